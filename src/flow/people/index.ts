/** People: the mail that asks a person into a team. It promises one mail an invitation, and never follows what a request says of our own address. */
export { createInvitationMails } from './invitation-mails.ts';
