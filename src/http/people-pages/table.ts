import { accountPage } from './account.ts';
import { consentPage } from './consent.ts';
import type { PeoplePage } from './page.ts';
import { signInPage } from './sign-in.ts';
import { signOutPage } from './sign-out.ts';

/** Every page, each by its path. */
export const peoplePages: readonly PeoplePage[] = [signInPage, signOutPage, accountPage, consentPage];
