/**
 * People: the mails that ask a person into a team and those about their account, and what is found out of an address behind the
 * back of the person who named it. It promises one mail for an occasion, and never follows what a request says of our own address.
 */
export { createPeople, type People } from './account-mail/account-mails.ts';

/**
 * Collects what a person sees of a call that waits for approval. Files that the call names by a URL are fetched when it
 * is held, and again when it is approved. Objects that it names by id are read when it is held, on each view, and again
 * when it is approved.
 */
export { fetchFilesOf, lookAt } from './approvals/review-call.ts';

/**
 * Single sign-on by OpenID Connect: sends people to the provider of their team, takes its answer, and asks it for what it says of
 * them. The address of a provider is chosen by a team, so that it is asked through the guard. Begins sessions; stores no attempt.
 */
export { recheckSsoProviders } from './sso-sign-in/providers.ts';
export { finishSignIn, startSignIn, type NotSignedIn, type SignInFault } from './sso-sign-in/sign-in.ts';
export { recheckSsoDomains } from './sso-sign-in/verify-domain.ts';
