/**
 * Users: the people who sign in, each known by one address. Two spellings that a reader would take for one address are
 * one user. Of a password only the hash is kept. The operator can disable a person, who then cannot sign in anywhere.
 */
export { mustResistGuessing } from './password-rules.ts';
export {
  createUser,
  readUserEmail,
  disableUser,
  enableUser,
  revokeGrants,
  findNamedUser,
  mustNotBeDisabled,
  type DisabledUser,
  toEmailKey,
  presentUser,
} from './users.ts';
export {
  claimUnverified,
  findUser,
  findUserByEmailKey,
  hasUsers,
  insertUser,
  listUsers,
  lockUser,
  noteVerified,
  setMfaEnabled,
  setPassword,
  type UserRow,
} from './users.store.ts';
