/**
 * Background work for people: invitations, account mails, and finding out whether an address has an account without
 * revealing it to the person who entered the address. It sends one mail per occasion, and never uses a request's claim
 * about this service's own address.
 */
export { createPeople, sendOperatorMail, type People } from './account-mail/account-mails.ts';

/**
 * Collects what a person sees of a call that waits for approval. Files that the call names by URL are fetched when it
 * is held, and again when it is approved. Objects that it names by id are read when it is held, on each view, and again
 * when it is approved.
 */
export { fetchCallFiles, reviewCall } from './approvals/review-call.ts';

/**
 * Single sign-on by OpenID Connect: sends people to the provider of their team, processes its response, and requests
 * its claims about them. A team chooses the address of its provider, so all requests go through the guard. Begins
 * sessions; stores no attempt.
 */
export { recheckSsoProviders } from './sso-sign-in/providers.ts';
export { finishSignIn, startSignIn, type NotSignedIn, type SignInFault } from './sso-sign-in/sign-in.ts';
export { recheckSsoDomains } from './sso-sign-in/verify-domain.ts';
