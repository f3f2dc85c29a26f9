/**
 * Invitations: an address is asked into a team, in a role, by mail. Of the token only a hash is kept. It works once, for
 * seven days, and only for the person who is signed in with that address and has verified it, or makes an account of it.
 */
export { acceptInvitation, joinAsNewUser, openInvitationOf } from './accept-invitation.ts';
export { createInvitation, inviteByOperator, listInvitations, revokeInvitation } from './invite.ts';
export { forgetInvitations } from './forget-invitations.ts';
export { lookAtInvitation, type ShownInvitation } from './look-at-invitation.ts';
export { tokenOf } from './invitation-token.ts';
export {
  BY_OPERATOR,
  findOpenInvitationTo,
  noteAccepted,
  noteInvitationMailed,
  removeAllOpenInvitations,
  unmailedInvitations,
  type InvitationRow,
} from './invitations.store.ts';
