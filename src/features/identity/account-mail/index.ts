/**
 * People: the mails that ask a person into a team and those about their account, and what is found out of an address behind the
 * back of the person who named it. It promises one mail for an occasion, and never follows what a request says of our own address.
 */
export { createPeople, sendAccountMail, type OutgoingAccountMail, type People } from './account-mails.ts';
