#!/bin/sh
# Run once by the Postgres image, when the cluster is made. Passwords come from the environment and reach psql through
# \getenv, so that they stand in no command line and no log.
set -eu

psql --no-psqlrc --quiet -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
  --file /groundeddocs/roles.sql --file - <<'SQL'
\getenv owner_password OWNER_DATABASE_PASSWORD
\getenv app_password APP_DATABASE_PASSWORD
\getenv auditor_password AUDITOR_DATABASE_PASSWORD
\getenv keycloak_password KEYCLOAK_DATABASE_PASSWORD
SET log_statement = 'none';
ALTER ROLE groundeddocs_owner PASSWORD :'owner_password';
ALTER ROLE groundeddocs_app PASSWORD :'app_password';
ALTER ROLE groundeddocs_auditor PASSWORD :'auditor_password';
CREATE ROLE keycloak LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE PASSWORD :'keycloak_password';
CREATE DATABASE keycloak OWNER keycloak;
REVOKE CONNECT ON DATABASE keycloak, groundeddocs FROM PUBLIC;
GRANT CONNECT ON DATABASE groundeddocs TO groundeddocs_owner, groundeddocs_app, groundeddocs_auditor;
SQL
