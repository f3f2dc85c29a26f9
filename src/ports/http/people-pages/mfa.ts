import { Refusal } from '../../../platform/refusal.ts';
import { qrSvg } from '../../../protocol/qr-code.ts';
import { escapeHtml } from '../../../protocol/safe-html/index.ts';
import { timeInWords } from '../share-page/index.ts';
import {
  afterFault,
  attempt,
  forSignedIn,
  renderForm,
  renderLink,
  renderLinks,
  renderStatus,
  type Field,
} from './elements.ts';
import type { PageCtx, PeoplePage, Shown, Fields } from './page.ts';

const back = renderLinks(renderLink('/account', 'Back to your account'));

const codeField: Field = {
  name: 'code',
  label: 'Code',
  autocomplete: 'one-time-code',
  inputmode: 'numeric',
  hint: 'Enter the 6-digit code from your authenticator app.',
};

export const mfaPage: PeoplePage = {
  path: '/account/mfa',
  get: forSignedIn((ctx, { query }) =>
    showStatus(ctx, { said: query.get('said') === 'off' ? 'Two-factor authentication is off.' : undefined }),
  ),
};

/** Defines a page that only receives the form of another page; a GET redirects to the status page. */
const definePostPage = (
  path: string,
  post: (ctx: PageCtx, form: Fields) => ReturnType<PeoplePage['get']>,
): PeoplePage => ({
  path,
  get: async () => ({ to: '/account/mfa' }),
  post: forSignedIn((ctx, { form }) => post(ctx, form)),
});

export const enrolPage = definePostPage('/account/mfa/set-up', async (ctx) => {
  const made = await attempt(ctx.call('enrolMfa', {}));
  return made instanceof Refusal ? showStatus(ctx, { fault: made }) : showEnrolment(ctx, made);
});

export const confirmPage = definePostPage('/account/mfa/confirm', async (ctx, form) => {
  const { has_password: hasPassword } = await ctx.call('getMfa', {});
  const password = hasPassword ? { password: form.get('password') ?? '' } : {};
  const done = await attempt(ctx.call('confirmMfa', { body: { code: (form.get('code') ?? '').trim(), ...password } }));
  if (!(done instanceof Refusal)) return showCodes('Two-factor authentication is on', done.recovery_codes);
  const [secret = '', otpauth_url = ''] = [form.get('secret'), form.get('otpauth_url')];
  return showEnrolment(ctx, { secret, otpauth_url }, done);
});

export const recoveryCodesPage = definePostPage('/account/mfa/recovery-codes', async (ctx, form) => {
  const done = await attempt(ctx.call('replaceRecoveryCodes', { body: { code: (form.get('code') ?? '').trim() } }));
  if (done instanceof Refusal) return showStatus(ctx, { fault: done, of: 'codes' });
  return showCodes('Your new recovery codes', done.recovery_codes);
});

export const disablePage = definePostPage('/account/mfa/disable', async (ctx, form) => {
  const done = await attempt(ctx.call('disableMfa', { body: { code: (form.get('code') ?? '').trim() } }));
  return done instanceof Refusal ? showStatus(ctx, { fault: done, of: 'off' }) : { to: '/account/mfa?said=off' };
});

interface FormState {
  said?: string | undefined;
  fault?: Refusal;
  /** The form that was refused. */
  of?: 'codes' | 'off';
}

async function showStatus({ call }: PageCtx, { said, fault, of }: FormState): Promise<Shown> {
  const mfa = await call('getMfa', {});
  const pickFault = (form: FormState['of']): Refusal | undefined => (form === of ? fault : undefined);
  const content = mfa.enabled
    ? [
        `<p>Two-factor authentication has been on since ${timeInWords(Date.parse(mfa.enabled_at ?? ''))}. When you sign in with your password, you also enter a code from your authenticator app. Recovery codes left: ${mfa.recovery_codes_remaining}.</p>`,
        '<h2>New recovery codes</h2>',
        renderForm({
          action: '/account/mfa/recovery-codes',
          submit: 'Generate ten new codes',
          isSecond: true,
          id: 'codes',
          fields: [codeField],
          fault: pickFault('codes'),
        }),
        '<h2>Turn off two-factor authentication</h2>',
        renderForm({
          action: '/account/mfa/disable',
          submit: 'Turn off',
          isSecond: true,
          id: 'off',
          fields: [
            { ...codeField, hint: 'Enter a code from your authenticator app, or a recovery code.', inputmode: 'text' },
          ],
          fault: pickFault('off'),
        }),
      ]
    : [
        '<p>With two-factor authentication, you sign in with your password and a code from an authenticator app on your phone. Your password alone is not enough.</p>',
        renderForm({
          action: '/account/mfa/set-up',
          submit: 'Set up an authenticator app',
          fault: pickFault(undefined),
        }),
      ];
  return {
    title: 'Two-factor authentication',
    content: [said === undefined ? '' : renderStatus(said), ...content, back].join('\n'),
    ...afterFault(fault),
  };
}

async function showEnrolment(
  { call, session }: PageCtx,
  { secret, otpauth_url }: { secret: string; otpauth_url: string },
  fault?: Refusal,
): Promise<Shown> {
  const { has_password: hasPassword } = await call('getMfa', {});
  const isOurs = otpauth_url.startsWith('otpauth://');
  const link = isOurs ? `<p>${renderLink(otpauth_url, 'Open in an authenticator app on this device')}</p>` : '';
  const picture = isOurs ? qrSvg(otpauth_url, 'QR code of the setup key below, for an authenticator app') : undefined;
  return {
    title: 'Set up an authenticator app',
    content: [
      picture === undefined
        ? '<p>Enter this setup key in your authenticator app:</p>'
        : `<p>Scan this QR code with your authenticator app:</p>\n${picture}\n<p>Or enter this setup key in the app:</p>`,
      `<p><code>${escapeHtml(secret.replaceAll(/(.{4})(?=.)/g, '$1 '))}</code></p>`,
      link,
      renderForm({
        action: '/account/mfa/confirm',
        submit: 'Turn on',
        username: session?.actor.name,
        hidden: { secret, otpauth_url },
        fault,
        fields: [
          codeField,
          ...(hasPassword
            ? [
                {
                  name: 'password',
                  label: 'Your password',
                  type: 'password',
                  autocomplete: 'current-password',
                } as const,
              ]
            : []),
        ],
      }),
      back,
    ].join('\n'),
    ...afterFault(fault),
  };
}

const showCodes = (title: string, codes: readonly string[]): Shown => ({
  title,
  content: [
    renderStatus(
      'These recovery codes are shown only once. Keep them in a different place from your phone. You can use each code once instead of a code from the app.',
    ),
    `<ul class="codes">${codes.map((code) => `<li>${escapeHtml(code)}</li>`).join('')}</ul>`,
    renderLinks(renderLink('/account', 'I have saved my recovery codes')),
  ].join('\n'),
});
