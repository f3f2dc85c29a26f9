/**
 * Invitations: an address is asked into a team, in a role, by mail. Of the token only a hash is kept. It works once, for
 * seven days, and only for the person who is signed in with that address and has verified it, or makes an account of it.
 */
export {
  acceptInvitation,
  joinAsNewUser,
  openInvitationOf,
  createInvitation,
  inviteByOperator,
  listInvitations,
  revokeInvitation,
  forgetInvitations,
  lookAtInvitation,
  type ShownInvitation,
  tokenOf,
} from './invitations.ts';
export {
  BY_OPERATOR,
  findOpenInvitationTo,
  noteAccepted,
  noteInvitationMailed,
  removeAllOpenInvitations,
  unmailedInvitations,
  type InvitationRow,
} from './invitations.store.ts';
