/**
 * Single sign-on by OpenID Connect: sends people to the provider of their team, takes its answer, and asks it for what it says of
 * them. The address of a provider is chosen by a team, so that it is asked through the guard. Begins sessions; stores no attempt.
 */
export { finishSignIn, startSignIn, type NotSignedIn, type SignInFault } from './sign-in.ts';
export { recheckSsoProviders } from './providers.ts';
export { recheckSsoDomains, verifySsoDomain } from './verify-domain.ts';
