/**
 * Invitations: an address is asked into a team, in a role, by mail. Of the token only a hash is kept. It works once, for
 * seven days, and only for the person who is signed in with that address and has verified it.
 */
export { acceptInvitation } from './accept-invitation.ts';
export { createInvitation, listInvitations, revokeInvitation } from './invite.ts';
export { forgetInvitations } from './forget-invitations.ts';
export { tokenOf } from './invitation-token.ts';
export { findOpenInvitationTo, noteAccepted, noteInvitationMailed, unmailedInvitations, type InvitationRow } from './invitations.store.ts';
