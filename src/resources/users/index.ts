/**
 * Users: the people who sign in, each known by one address. Two spellings that a reader takes for one address are one
 * user. Of a password only the hash is kept.
 */
export { createUser, readUserEmail } from './create-user.ts';
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
  setPassword,
  type UserRow,
} from './users.store.ts';
