/** The pages that a person sees: plain HTML, no scripts, nothing from another host. */
import { DEMO_USERS } from "./users.js";

const STYLE = `
body { font: 1rem/1.5 system-ui, sans-serif; margin: 0; background: #f4f5f7; color: #1b1f24; }
main { max-width: 24rem; margin: 10vh auto; padding: 2rem; background: #fff; border: 1px solid #d5d9de; border-radius: 8px; }
h1 { font-size: 1.25rem; margin-top: 0; }
button, input[type=text] { font: inherit; width: 100%; box-sizing: border-box; padding: .6rem .8rem; margin: .25rem 0;
  border: 1px solid #8a929c; border-radius: 6px; background: #fff; color: inherit; text-align: left; }
input[type=text] { text-transform: uppercase; letter-spacing: .1em; }
button { cursor: pointer; }
button:hover, button:focus-visible { border-color: #0b57d0; outline: 2px solid #0b57d0; }
code { font-size: 1.5rem; letter-spacing: .1em; }
.note { color: #555d66; font-size: .875rem; }
.error { color: #a40e26; }
`;

/** Allows our style and forms; `form-action` also covers where a form's answer redirects to. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  "script-src 'none'",
  "form-action 'self' http://127.0.0.1:* http://localhost:*",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join("; ");

/** @param {unknown} text */
export function escapeHtml(text) {
  /** @type {Record<string, string>} */
  const names = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return String(text).replaceAll(/[&<>"']/g, (sign) => names[sign] ?? sign);
}

/**
 * @param {string} title
 * @param {string} body HTML; whoever calls has escaped what is not ours.
 */
export function page(title, body) {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} - GroundedDocs</title><style>${STYLE}</style></head>
<body><main><h1>${escapeHtml(title)}</h1>${body}</main></body>
</html>`;
}

/**
 * @param {string} action Address that takes the choice.
 * @param {string} client Name of the program that asks.
 */
export function loginPage(action, client) {
  const buttons = DEMO_USERS.map(
    (user) => `<button name="user" value="${escapeHtml(user.id)}">${escapeHtml(user.name)}</button>`,
  );
  return page(
    "Sign in",
    `<p>Who are you? You will be signed in to ${escapeHtml(client)}.</p>
<form method="post" action="${escapeHtml(action)}">${buttons.join("\n")}</form>
<p class="note">These are demo users of this machine. They have no passwords.</p>`,
  );
}

/**
 * @param {string} form The provider's form with the input field.
 * @param {Error | undefined} error
 */
export function deviceInputPage(form, error) {
  const wrong = "This code is not valid or was already used. Type it as your terminal shows it.";
  const text = error?.name === "AbortedError" ? "The request was refused. You can close this page." : wrong;
  const hint = error
    ? `<p class="error" role="alert">${text}</p>`
    : "<p>Type the code that your terminal shows.</p>";
  return page("Connect a device", `${hint}${form}<button type="submit" form="op.deviceInputForm">Continue</button>`);
}

/**
 * @param {string} form The provider's form.
 * @param {string} client Name of the program that asks.
 * @param {string} code
 */
export function deviceConfirmPage(form, client, code) {
  return page(
    "Connect a device",
    `<p>Let ${escapeHtml(client)} act for you? Go on only if it shows this code:</p>
<p><code>${escapeHtml(code)}</code></p>${form}
<button type="submit" form="op.deviceConfirmForm">Continue</button>
<button type="submit" form="op.deviceConfirmForm" name="abort" value="yes">This is not my code</button>`,
  );
}

export function deviceDonePage() {
  return page("You are signed in", "<p>Go back to your terminal. You can close this page.</p>");
}

/** @param {string} form The provider's form. */
export function logoutPage(form) {
  return page(
    "Sign out",
    `${form}<button type="submit" form="op.logoutForm" name="logout" value="yes">Sign out</button>
<button type="submit" form="op.logoutForm">Stay signed in</button>`,
  );
}

export function loggedOutPage() {
  return page("You are signed out", "<p>You can close this page.</p>");
}

/** @param {import("oidc-provider").ErrorOut} out */
export function errorPage(out) {
  const text = out.error_description ?? out.error;
  return page("That did not work", `<p class="error" role="alert">${escapeHtml(text)}</p>`);
}
