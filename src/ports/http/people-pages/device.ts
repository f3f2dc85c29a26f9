import type { AnswerOf } from '../../../contract/index.ts';
import { Refusal, refuse } from '../../../platform/refusal/index.ts';
import { DEVICE_PATH } from '../../../features/identity/device-logins/index.ts';
import { bdi } from '../layout/index.ts';
import { attempt, forSignedIn, renderForm, renderLink, renderLinks, renderStatus, showForm } from './elements.ts';
import type { PeoplePage, Shown, SignedIn } from './page.ts';

type Asks = AnswerOf<'getDeviceLogin'>;

const VERBS = { approve: 'approveDeviceLogin', deny: 'denyDeviceLogin' } as const;
const isVerb = (text: string | undefined): text is keyof typeof VERBS => text !== undefined && text in VERBS;

/** Where a person approves a program that has shown them a code, such as `rasket login`. */
export const devicePage: PeoplePage = {
  path: DEVICE_PATH,
  get: forSignedIn(async ({ call, session }, { query }) => {
    const code = query.get('code');
    if (code === undefined) return askForCode();
    const asks = await attempt(call('getDeviceLogin', { query: { user_code: code } }));
    return asks instanceof Refusal ? askForCode(code, asks) : askForDecision(asks, code, session);
  }),
  post: forSignedIn(async ({ call }, { form }) => {
    const [code, decision] = [form.get('user_code') ?? '', form.get('decision')];
    // Only a person who has seen what asks decides.
    if (!isVerb(decision)) return { to: `${DEVICE_PATH}?code=${encodeURIComponent(code)}` };
    const done = await attempt(call(VERBS[decision], { body: { user_code: code } }));
    return done instanceof Refusal ? askForCode(code, done) : sayDone(done);
  }),
};

const askForCode = (code?: string, fault?: Refusal): Shown =>
  showForm(
    'Sign in at a program',
    {
      action: DEVICE_PATH,
      submit: 'Go on',
      fields: [{ name: 'user_code', label: 'The code that the program shows', autocomplete: 'off', value: code }],
      fault: fault?.status === 404 ? noSuchCode() : fault,
    },
    { above: '<p>A command line or another program without a browser asked you to open this page.</p>' },
  );

const noSuchCode = (): Refusal =>
  refuse('not_found', { say: 'There is no such code, or it has expired: each works for ten minutes.' });

function askForDecision(asks: Asks, code: string, { actor }: SignedIn): Shown {
  if (asks.status !== 'pending') return sayDone(asks);
  const rows = [
    ['Program', bdi(asks.client_name)],
    ['From the address', bdi(asks.address)],
    ['Which says it is', bdi(asks.user_agent)],
    ['Asked at', bdi(asks.created_at.replace('T', ' ').replace(/\.\d+Z$/, ' UTC'))],
    ['It will be signed in as', bdi(actor.name)],
  ].map(([label, value]) => `<div><dt>${label}</dt><dd>${value}</dd></div>`);
  const form = (decision: string, submit: string, isSecond = false): string =>
    renderForm({ action: DEVICE_PATH, submit, isSecond, hidden: { user_code: code, decision }, id: decision });
  return {
    title: 'Sign in at a program?',
    content: [
      `<dl>${rows.join('')}</dl>`,
      '<p>Approve it only if you have started it yourself just now and it shows this code. It may then do all that you may do.</p>',
      `<p class="codes"><strong>${bdi(code)}</strong></p>`,
      form('approve', 'Approve'),
      '<p></p>',
      form('deny', 'Deny', true),
    ].join('\n'),
  };
}

const sayDone = ({ status, client_name: name }: Asks): Shown => ({
  title: status === 'approved' ? 'Approved' : 'Denied',
  content: [
    renderStatus(
      status === 'approved'
        ? `${name} is signed in within seconds. You may close this page.`
        : `${name} is not signed in. You may close this page.`,
    ),
    renderLinks(renderLink('/account', 'Your account')),
  ].join('\n'),
});
