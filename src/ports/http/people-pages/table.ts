import { accountPage, sessionsPage, teamPage } from './account.ts';
import { appLimitsPage } from './app-limits.ts';
import { approvalPage, approvalsPage } from './approvals.ts';
import { appsPage } from './apps.ts';
import { consentPage } from './consent.ts';
import { devicePage } from './device.ts';
import { frontPage } from './front.ts';
import { invitationPage } from './invitation.ts';
import { confirmPage, disablePage, enrolPage, mfaPage, recoveryCodesPage } from './mfa.ts';
import type { PeoplePage } from './page.ts';
import { forgotPasswordPage, passwordPage, resetPasswordPage } from './password.ts';
import { codePage, recoveryCodePage, signInPage } from './sign-in.ts';
import { signOutPage } from './sign-out.ts';
import { signUpPage, verifyEmailPage } from './sign-up.ts';
import { ssoCallbackPage, ssoStartPage } from './sso.ts';

/** Every page, each by its path. */
export const peoplePages: readonly PeoplePage[] = [
  ...[frontPage, signInPage, codePage, recoveryCodePage, signOutPage, signUpPage, verifyEmailPage],
  ...[ssoStartPage, ssoCallbackPage, consentPage],
  ...[forgotPasswordPage, resetPasswordPage, invitationPage],
  ...[accountPage, teamPage, passwordPage, sessionsPage, appsPage, appLimitsPage, devicePage],
  ...[approvalsPage, approvalPage],
  ...[mfaPage, enrolPage, confirmPage, recoveryCodesPage, disablePage],
];
