import { SCOPES, type Scope, type AnswerOf } from '../../../contract/index.ts';
import { Refusal, refuse, invalidField } from '../../../platform/refusal.ts';
import { escapeHtml } from '../../../protocol/safe-html/index.ts';
import {
  listOwnGrants,
  readStored,
  revokeOwnGrant,
  findOwnGrant,
  limitOwnGrant,
  answerConsent,
  askForConsent,
  readAuthorization,
  EMAILS_MAX,
  type Ask,
  type Asked,
  type Limited,
  type LimitsAsked,
  DEVICE_PATH,
} from '../../../features/identity/index.ts';
import { bdi } from '../layout/index.ts';
import { timeInWords } from '../share-page/index.ts';
import {
  afterFault,
  attempt,
  forSignedIn,
  renderAlert,
  renderForm,
  renderLink,
  renderLinks,
  renderStatus,
  showForm,
  type Field,
} from './elements.ts';
import type { PageCtx, PeoplePage, Shown, SignedIn, Fields } from './page.ts';
import { isoTime } from '../../../platform/clock.ts';

const DAY_MS = 24 * 3_600_000;
const DAYS = [1, 7, 30, 90, 365];

const APPROVALS = [
  { value: 'none', label: 'Nothing' },
  { value: 'broadcasts', label: 'Sending a broadcast' },
  { value: 'sends', label: 'Everything that sends mail or may start it' },
  { value: 'changes', label: 'Everything that changes or sends anything' },
] as const;

const MAY_SEND: ReadonlySet<Scope> = new Set([
  'emails:send',
  'broadcasts:write',
  'events:send',
  'contacts:write',
  'automations:write',
] as const);

const UNCOUNTED =
  'Then it sends no broadcasts, reports no events, moves no scheduled emails and changes no contacts or automations, unless you approve it.';

/**
 * Returns the fields by which a person limits an app; limits that make no difference for these scopes are left out.
 * With `days`, the end of another grant is not copied: the new grant lasts that many days, or has no end when `days` is
 * null.
 */
function limitFields(scopes: readonly Scope[], now?: Limited, days?: number | null): Field[] {
  return [
    ...(scopes.some((scope) => !scope.endsWith(':read')) ? changeFields(now) : []),
    ...(scopes.some((scope) => MAY_SEND.has(scope)) ? sendFields(now) : []),
    days === undefined ? endField(now?.expiresAt ?? null) : { ...endField(null), value: String(days ?? 'never') },
  ];
}

const changeFields = (now: Limited | undefined): Field[] => [
  {
    name: 'read_only',
    type: 'checkbox',
    autocomplete: 'off',
    label: 'It may only read',
    isChecked: now?.limits.readOnly === true,
  },
  {
    name: 'approval',
    autocomplete: 'off',
    label: 'You approve first',
    options: APPROVALS,
    value: now?.limits.approval ?? 'none',
    hint: 'Until then it waits under your account, and you are told by mail.',
  },
];

const sendFields = (now: Limited | undefined): Field[] => [
  {
    name: 'own_domains',
    type: 'checkbox',
    autocomplete: 'off',
    hint: UNCOUNTED,
    label: 'It writes to addresses of your team’s own domains alone',
    isChecked: now?.limits.recipients === 'own_domains',
  },
  {
    name: 'emails_per_day',
    type: 'number',
    inputmode: 'numeric',
    autocomplete: 'off',
    isOptional: true,
    label: 'At most so many emails a day, one for each recipient',
    hint: UNCOUNTED,
    value: now?.limits.emailsPerDay?.toString() ?? '',
  },
];

/** The longest choice that ends no later than it does, or the shortest; null for none. */
function daysUntil(limited: Limited | undefined, now: number): number | null {
  const end = limited?.expiresAt ?? null;
  if (end === null) return null;
  return DAYS.findLast((days) => now + days * DAY_MS <= end) ?? DAYS[0] ?? null;
}

const endField = (expiresAt: number | null): Field => ({
  name: 'ends',
  autocomplete: 'off',
  label: 'It ends',
  value: expiresAt === null ? 'never' : 'keep',
  options: [
    ...(expiresAt === null ? [] : [{ value: 'keep', label: timeInWords(expiresAt) }]),
    { value: 'never', label: 'When you end it' },
    ...DAYS.map((days) => ({ value: String(days), label: days === 1 ? 'After a day' : `After ${days} days` })),
  ],
});

/**
 * Reads the limits from a form with these fields; an invalid number is left to the check of the limits. A value that
 * our forms never send is refused: taken for no limit, it would let an app do what was not allowed.
 */
function limitsIn(form: Fields, now: number): LimitsAsked {
  const count = form.get('emails_per_day')?.trim() ?? '';
  const ends = form.get('ends');
  return {
    read_only: isTicked(form, 'read_only'),
    approval: approvalIn(form.get('approval') ?? 'none'),
    recipients: isTicked(form, 'own_domains') ? 'own_domains' : 'any',
    emails_per_day: count === '' ? null : /^\d{1,7}$/.test(count) ? Number(count) : EMAILS_MAX + 1,
    ...(ends === 'keep' ? {} : { expires_at: endIn(ends ?? 'never', now) }),
  };
}

function isTicked(form: Fields, name: string): boolean {
  const value = form.get(name);
  if (value === undefined || value === 'yes') return value === 'yes';
  throw invalidField(name, `${name} must be yes, or absent`);
}

function approvalIn(given: string): (typeof APPROVALS)[number]['value'] {
  const found = APPROVALS.find(({ value }) => value === given);
  if (found) return found.value;
  throw invalidField('approval', `approval must be ${APPROVALS.map(({ value }) => value).join(', ')}`);
}

function endIn(ends: string, now: number): string | null {
  if (ends === 'never') return null;
  const days = DAYS.find((one) => String(one) === ends);
  if (days !== undefined) return isoTime(now + days * DAY_MS);
  throw invalidField('ends', `ends must be never, keep, or one of the days ${DAYS.join(', ')}`);
}

/** Returns the limits in words, one a line; empty if there are none. */
function limitsInWords({ limits, expiresAt }: Limited): string[] {
  const approval = APPROVALS.find(({ value }) => value === limits.approval)?.label.toLowerCase();
  return [
    limits.readOnly ? 'It may only read' : '',
    limits.approval === 'none' ? '' : `A person approves first: ${approval}`,
    limits.recipients === 'any' ? '' : 'It writes to your team’s own domains alone',
    limits.emailsPerDay === null ? '' : `At most ${limits.emailsPerDay} emails a day`,
    expiresAt === null ? '' : `It ends ${timeInWords(expiresAt)}`,
  ].filter((line) => line !== '');
}

const PATH = '/account/apps';

const SAID: Readonly<Record<string, string>> = { ended: 'It has ended.', limited: 'The limits are set.' };

type PersonCtx = PageCtx & { session: SignedIn };

/** Lists the apps that the person has authorized, in every team. */
export const appsPage: PeoplePage = {
  path: PATH,
  get: forSignedIn((ctx, { query }) =>
    showApps(ctx, { after: query.get('after'), said: SAID[query.get('said') ?? ''] }),
  ),
  post: forSignedIn(async (ctx, { form }) => {
    const { store, browser, requestId, session } = ctx;
    const done = await attempt(
      revokeOwnGrant({ store, browser, requestId, actor: session.actor }, form.get('grant_id') ?? ''),
    );
    return done instanceof Refusal ? showApps(ctx, { fault: done }) : { to: `${PATH}?said=ended` };
  }),
};

type Row = Awaited<ReturnType<typeof listOwnGrants>>['rows'][number];

async function showApps(
  { store, session }: PersonCtx,
  { after, said, fault }: { after?: string | undefined; said?: string | undefined; fault?: Refusal },
): Promise<Shown> {
  const { rows, hasMore } = await listOwnGrants({ store, actor: session.actor }, after);
  return {
    title: 'Apps you have let in',
    content: [
      said === undefined ? '' : renderStatus(said),
      fault ? renderAlert(fault.message) : '',
      rows.length === 0
        ? '<p>No app acts for you.</p>'
        : `<p>They call themselves so; this service does not know who made them. Each acts for you in its team, until you end it.</p><ul class="rows">${rows.map(rowOf).join('')}</ul>`,
      renderLinks(
        hasMore ? renderLink(`${PATH}?after=${rows.at(-1)?.id ?? ''}`, 'Older ones') : '',
        renderLink('/account', 'Back to your account'),
      ),
    ].join('\n'),
    ...afterFault(fault),
  };
}

function rowOf(row: Row): string {
  const since = timeInWords(row.created_at);
  const used = row.last_used_at === null ? 'not used yet' : `last used ${timeInWords(row.last_used_at)}`;
  const scopes = row.scopes.split(' ').map((scope) => `<li>${escapeHtml(SCOPES[scope as Scope] ?? scope)}</li>`);
  const end = renderForm({
    action: PATH,
    submit: 'End it',
    describedAs: `End ${row.client_name}, since ${since}`,
    isSecond: true,
    hidden: { grant_id: row.id },
    id: `end-${row.id}`,
  });
  const limits = limitsInWords({ limits: readStored(row.limits), expiresAt: row.expires_at });
  const lines = limits.map((line) => `<li>${escapeHtml(line)}</li>`).join('');
  const limited = lines === '' ? '' : `<p>Kept to less:</p><ul>${lines}</ul>`;
  const change = renderLink(`${PATH}/limits?grant=${row.id}`, `Change the limits of ${row.client_name}`);
  return `<li><div>${bdi(row.client_name)}<br><span class="quiet">In ${bdi(row.team_name)}, since ${since}, ${used}</span><ul>${scopes.join('')}</ul>${limited}${change}</div>${end}</li>`;
}

const LIMITS_PATH = '/account/apps/limits';

/** Changes the limits of an app that the person has authorized. */
export const appLimitsPage: PeoplePage = {
  path: LIMITS_PATH,
  get: forSignedIn((ctx, { query }) => showLimits(ctx, query.get('grant') ?? '')),
  post: forSignedIn(async (ctx, { form }) => {
    const { store, browser, requestId, session } = ctx;
    const id = form.get('grant_id') ?? '';
    const own = { store, browser, requestId, actor: session.actor };
    const done = await attempt((async () => limitOwnGrant(own, id, limitsIn(form, store.clock.now())))());
    if (!(done instanceof Refusal)) return { to: '/account/apps?said=limited' };
    if (done.errors) return showLimits(ctx, id, done);
    throw done;
  }),
};

async function showLimits(
  { store, session }: PageCtx & { session: SignedIn },
  id: string,
  fault?: Refusal,
): Promise<Shown> {
  const grant = await findOwnGrant({ store, actor: session.actor }, id);
  const now = { limits: readStored(grant.limits), expiresAt: grant.expires_at };
  const fields = limitFields(grant.scopes.split(' ') as Scope[], now);
  return {
    title: 'Limits of an app',
    content: [
      `<p>${bdi(grant.client_name)} is kept to these from its next call on.</p>`,
      renderForm({ action: LIMITS_PATH, submit: 'Set the limits', fields, hidden: { grant_id: grant.id }, fault }),
      renderLinks(renderLink('/account/apps', 'Back to your apps')),
    ].join('\n'),
    ...afterFault(fault),
  };
}

const CONSENT_PATH = '/oauth/consent';

/** Asks a person to authorize an app. It asks every time: an earlier approval does not count. */
export const consentPage: PeoplePage = {
  path: CONSENT_PATH,
  get: forSignedIn(async (ctx, { query }) => {
    const read = await readAuthorization(ctx.store, Object.fromEntries(query));
    if (read.kind === 'unknown') return unknown(read.say);
    if (read.kind === 'refused') return { to: read.to };
    const ask = await askForConsent(consentCtx(ctx), ctx.session.teamId, read);
    return ask ? shown(ctx, read, ask) : withoutTeam();
  }),
  post: forSignedIn(async (ctx, { form }) => {
    const decision = form.get('decision');
    if (decision !== 'allow' && decision !== 'refuse') return unknown('This form has no answer in it.');
    const answer = await attempt(decide(ctx, form, decision === 'allow'));
    if (!(answer instanceof Refusal)) return { to: answer };
    // A limit that cannot be set; the question is still open on the page before.
    if (answer.errors) return limitAtFault(answer);
    throw answer;
  }),
};

async function decide(ctx: PageCtx & { session: SignedIn }, form: Fields, isAllowed: boolean): Promise<string> {
  const limits = isAllowed && limitsIn(form, ctx.store.clock.now());
  return answerConsent(consentCtx(ctx), form.get('consent') ?? '', limits);
}

const consentCtx = ({ store, browser, requestId, session }: PageCtx & { session: SignedIn }) => ({
  store,
  browser,
  requestId,
  actor: session.actor,
});

/**
 * Nothing of the app is fetched or drawn: its name is text of an untrusted sender, and its picture could be anybody's.
 */
function shown(
  { store, session: { actor } }: PageCtx & { session: SignedIn },
  { client, request }: Asked,
  { token, team, before }: Pick<Ask, 'token' | 'team' | 'before'>,
): Shown {
  const target = new URL(request.redirectUri);
  const place = target.host === '' ? target.protocol : target.host;
  const scopes = request.scopes.map((scope) => `<li>${escapeHtml(SCOPES[scope])} (<code>${scope}</code>)</li>`);
  const form = (submit: string, decision: string, isSecond: boolean, fields: readonly Field[] = []): string =>
    renderForm({ action: CONSENT_PATH, submit, isSecond, fields, hidden: { consent: token, decision }, id: decision });
  return {
    title: 'Let an app in?',
    content: [
      `<p>An app that calls itself <strong>${bdi(client.name)}</strong> asks to act for you in the team <strong>${bdi(team.name)}</strong>.</p>`,
      `<h2>It wants to</h2><ul>${scopes.join('')}</ul>`,
      request.resource === 'mcp' ? '<p>It reaches this by <code>/mcp</code> alone.</p>' : '',
      `<dl><div><dt>You are</dt><dd>${bdi(actor.name)}, ${actor.role ?? 'without a role'} of the team</dd></div>`,
      `<div><dt>It is told at</dt><dd>${bdi(place)}</dd></div></dl>`,
      '<p>This service does not know who made the app. Allow it only if you have just asked for this yourself. It never may do more than your own role allows, and you or an admin of the team can end it at any time.</p>',
      '<p class="quiet">Where the app comes twice with what works once, it is shut out and asks you again: that is how stolen access is noticed.</p>',
      before ? alreadyIn(before) : '',
      '<h2>Keep it to less</h2>',
      form('Allow', 'allow', false, limitFields(request.scopes, before, daysUntil(before, store.clock.now()))),
      form('Do not allow', 'refuse', true),
    ].join('\n'),
    formsLeadTo: [formTarget(target)],
  };
}

/** Each grant counts for itself: the limits of an earlier grant must not end because the app asks again. */
function alreadyIn(before: Limited): string {
  const limits = limitsInWords(before).map((line) => `<li>${escapeHtml(line)}</li>`);
  const kept = limits.length === 0 ? 'It has no limits.' : `It is kept to less:</p><ul>${limits.join('')}</ul><p>`;
  return `<h2>It has access already</h2><p>${kept} The form below begins with the same. What you allow now comes beside it, and each of the two counts its emails a day by itself: ${renderLink('/account/apps', 'end the former one')} where it is not needed any more.</p>`;
}

/** Returns the target as a Content-Security-Policy source; these cannot express IPv6 addresses. */
function formTarget(target: URL): string {
  // Any other character could end the directive, or match every host.
  const isPlain = /^https?:$/.test(target.protocol) && /^[a-z0-9._-]+$/.test(target.hostname);
  return isPlain ? target.origin : target.protocol;
}

const unknown = (say: string): Shown => ({
  title: 'This app cannot be let in',
  content: `<p>${bdi(say)}</p><p>Nothing was allowed.</p>`,
  status: 400,
  isFault: true,
});

const limitAtFault = ({ message, status }: Refusal): Shown => ({
  title: 'This limit cannot be set',
  content: `<p>${bdi(message)}</p><p>Nothing was allowed yet. Go back to the page before, and change it there.</p>`,
  status,
  isFault: true,
});

const withoutTeam = (): Shown => ({
  title: 'Choose a team first',
  content: `<p>An app acts in a team, and your session is in none. Choose one, then go back to the app and begin again.</p>${renderLinks(renderLink('/account', 'Your account'))}`,
  status: 403,
  isFault: true,
});

type Asks = AnswerOf<'getDeviceLogin'>;

const VERBS = { approve: 'approveDeviceLogin', deny: 'denyDeviceLogin' } as const;
const isVerb = (text: string | undefined): text is keyof typeof VERBS => text !== undefined && text in VERBS;

/** Approves a program that has shown the person a code, such as `rasket login`. */
export const devicePage: PeoplePage = {
  path: DEVICE_PATH,
  get: forSignedIn(async ({ call, session }, { query }) => {
    const code = query.get('code');
    if (code === undefined) return askForCode();
    const asks = await attempt(call('getDeviceLogin', { query: { user_code: code } }));
    return asks instanceof Refusal ? askForCode(code, asks) : askForDecision(asks, code, session);
  }),
  post: forSignedIn(async ({ call }, { form }) => {
    const code = form.get('user_code') ?? '';
    const decision = form.get('decision');
    // Only a person who has seen the program decides.
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
