/** A grant of this provider alone: a token for a demo user by name, so that scripts need no browser. */
import { errors } from "oidc-provider";

import { AUDIENCE } from "./config.js";
import { findUser } from "./users.js";

export const DEMO_USER_GRANT = "urn:groundeddocs:params:oauth:grant-type:demo-user";

/**
 * @param {import("oidc-provider").Provider} provider
 * @param {import("oidc-provider").ResourceServer} api How a token for the API looks.
 */
export function registerDemoUserGrant(provider, api) {
  provider.registerGrantType(
    DEMO_USER_GRANT,
    /** @param {import("oidc-provider").TokenEndpointGrantContext<{ username?: string }>} context */
    async (context) => {
      const user = findUser(context.oidc.params.username);
      if (!user) throw new errors.InvalidGrant("no such demo user");
      const { client } = context.oidc;
      const grant = new provider.Grant({ clientId: client.clientId, accountId: user.id });
      grant.addResourceScope(AUDIENCE, api.scope);
      const token = new provider.AccessToken({
        accountId: user.id,
        client,
        grantId: await grant.save(),
        gty: "demo_user",
      });
      token.resourceServer = new provider.ResourceServer(AUDIENCE, api);
      token.scope = api.scope;
      context.body = {
        access_token: await token.save(),
        token_type: token.tokenType,
        expires_in: token.expiration,
        scope: token.scope,
      };
    },
    ["username"],
  );
}
