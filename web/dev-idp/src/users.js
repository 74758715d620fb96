/** The demo users. They exist in this provider alone, and none of them has a password. */

/**
 * @typedef {object} DemoUser
 * @property {string} id Subject of the tokens.
 * @property {string} name
 * @property {string} email
 */

/** @type {readonly DemoUser[]} */
export const DEMO_USERS = [
  { id: "alice", name: "Alice Example", email: "alice@example.com" },
  { id: "bob", name: "Bob Example", email: "bob@example.com" },
  { id: "mallory", name: "Mallory Example", email: "mallory@example.com" },
];

/**
 * @param {string | undefined} id
 * @returns {DemoUser | undefined}
 */
export function findUser(id) {
  return DEMO_USERS.find((user) => user.id === id);
}
