/**
 * Users: the people who sign in, each known by one address. Two spellings that a reader takes for one address are one
 * user. Of a password only the hash is kept. The operator disables a person, who then signs in nowhere.
 */
export { createUser, readUserEmail } from './create-user.ts';
export { disableUser, enableUser, findNamedUser, mustNotBeDisabled, type DisabledUser } from './disable-user.ts';
export { emailKeyOf } from './email-key.ts';
export { presentUser } from './present.ts';
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
