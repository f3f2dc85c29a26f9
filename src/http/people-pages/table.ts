import { accountPage } from './account.ts';
import type { PeoplePage } from './page.ts';
import { signInPage } from './sign-in.ts';
import { signOutPage } from './sign-out.ts';
import { ssoCallbackPage, ssoStartPage } from './sso.ts';

/** Every page, each by its path. */
export const peoplePages: readonly PeoplePage[] = [signInPage, ssoStartPage, ssoCallbackPage, signOutPage, accountPage];
