-- Roles, extensions and schema ownership. Run once by a superuser in the service's database, before the first
-- migration; running it again changes nothing. Passwords are set apart from this file.
--
--   groundeddocs_owner        owns the tables and runs migrations; never used by the service
--   groundeddocs_app          the service: no ownership, no BYPASSRLS, so that row-level security always applies
--   groundeddocs_auditor      reads, inside one workspace at a time
--   groundeddocs_maintenance  cannot log in; owns the few SECURITY DEFINER functions that look across workspaces

DO $$
DECLARE
    login_role text;
BEGIN
    FOREACH login_role IN ARRAY ARRAY['groundeddocs_owner', 'groundeddocs_app', 'groundeddocs_auditor'] LOOP
        IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = login_role) THEN
            EXECUTE format('CREATE ROLE %I LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE', login_role);
        END IF;
    END LOOP;
    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'groundeddocs_maintenance') THEN
        CREATE ROLE groundeddocs_maintenance NOLOGIN NOSUPERUSER BYPASSRLS;
    END IF;
END
$$;

CREATE EXTENSION IF NOT EXISTS vector;
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;
CREATE EXTENSION IF NOT EXISTS unaccent;

GRANT groundeddocs_maintenance TO groundeddocs_owner WITH INHERIT FALSE, SET TRUE;
ALTER SCHEMA public OWNER TO groundeddocs_owner;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO groundeddocs_app, groundeddocs_auditor, groundeddocs_maintenance;
GRANT CREATE ON SCHEMA public TO groundeddocs_maintenance;
