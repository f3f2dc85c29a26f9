import { SCOPE_NAMES, SCOPES, type Scope, type AnswerOf } from '../../../contract/index.ts';
import { Refusal, refuse, invalidField } from '../../../platform/refusal.ts';
import { APPROVAL_ABOVE, NO_LIMITS } from '../../../tenancy/access/index.ts';
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
  { value: 'none', label: 'never' },
  { value: 'broadcasts', label: 'sends a broadcast, starts an automation, or sends many emails a day' },
  { value: 'sends', label: 'sends any email or triggers one' },
  { value: 'changes', label: 'changes anything or sends email' },
] as const;

const MAY_SEND: ReadonlySet<Scope> = new Set([
  'emails:send',
  'inbox:write',
  'broadcasts:write',
  'events:send',
  'contacts:write',
  'automations:write',
  'suppressions:write',
] as const);

const LIMIT_HINT =
  'With this limit or the one above, the app cannot send broadcasts, report events, reschedule emails, remove suppressions, or change contacts, automations or templates, unless you approve the request.';

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
    label: 'Read-only access',
    isChecked: now?.limits.readOnly === true,
  },
  {
    name: 'approval',
    autocomplete: 'off',
    label: 'Ask me before the app…',
    options: APPROVALS,
    value: now?.limits.approval ?? 'none',
    hint: 'Requests wait in your account until they are approved or rejected. You are notified by email.',
  },
];

const sendFields = (now: Limited | undefined): Field[] => [
  {
    name: 'approval_above',
    type: 'number',
    inputmode: 'numeric',
    autocomplete: 'off',
    isOptional: true,
    label: 'How many recipients a day are many',
    hint: `Applies if you are asked before broadcasts. Events and changes of contacts count, too. The default is ${APPROVAL_ABOVE}.`,
    value: (now?.limits.approvalAbove ?? APPROVAL_ABOVE).toString(),
  },
  {
    name: 'own_domains',
    type: 'checkbox',
    autocomplete: 'off',
    label: 'Send only to addresses at your team’s own domains',
    isChecked: now?.limits.recipients === 'own_domains',
  },
  {
    name: 'emails_per_day',
    type: 'number',
    inputmode: 'numeric',
    autocomplete: 'off',
    isOptional: true,
    label: 'Maximum emails per day, counting each recipient',
    hint: LIMIT_HINT,
    value: now?.limits.emailsPerDay?.toString() ?? '',
  },
];

/** Returns the longest choice that ends no later than the grant, or the shortest one; null if the grant has no end. */
function chooseDays(limited: Limited | undefined, now: number): number | null {
  const end = limited?.expiresAt ?? null;
  if (end === null) return null;
  return DAYS.findLast((days) => now + days * DAY_MS <= end) ?? DAYS[0] ?? null;
}

const endField = (expiresAt: number | null): Field => ({
  name: 'ends',
  autocomplete: 'off',
  label: 'Access expires',
  value: expiresAt === null ? 'never' : 'keep',
  options: [
    ...(expiresAt === null ? [] : [{ value: 'keep', label: timeInWords(expiresAt) }]),
    { value: 'never', label: 'Never' },
    ...DAYS.map((days) => ({ value: String(days), label: days === 1 ? 'After 1 day' : `After ${days} days` })),
  ],
});

/**
 * Reads the limits from a form with these fields; an invalid number is left to the check of the limits. A value that
 * our forms never send is refused: taken for no limit, it would let an app do what was not allowed.
 */
function readLimits(form: Fields, now: number): LimitsAsked {
  const count = form.get('emails_per_day')?.trim() ?? '';
  const above = form.get('approval_above')?.trim() ?? '';
  const ends = form.get('ends');
  return {
    read_only: isTicked(form, 'read_only'),
    approval: readApproval(form.get('approval') ?? 'none'),
    recipients: isTicked(form, 'own_domains') ? 'own_domains' : 'any',
    emails_per_day: count === '' ? null : readCount(count),
    approval_above: above === '' ? APPROVAL_ABOVE : readCount(above),
    ...(ends === 'keep' ? {} : { expires_at: readExpiry(ends ?? 'never', now) }),
  };
}

/** Reads a number; the check of the limits refuses an invalid one. */
const readCount = (text: string): number => (/^\d{1,7}$/.test(text) ? Number(text) : EMAILS_MAX + 1);

function isTicked(form: Fields, name: string): boolean {
  const value = form.get(name);
  if (value === undefined || value === 'yes') return value === 'yes';
  throw invalidField(name, `${name} must be yes or omitted`);
}

function readApproval(given: string): (typeof APPROVALS)[number]['value'] {
  const found = APPROVALS.find(({ value }) => value === given);
  if (found) return found.value;
  throw invalidField('approval', `approval must be one of ${APPROVALS.map(({ value }) => value).join(', ')}`);
}

function readExpiry(ends: string, now: number): string | null {
  if (ends === 'never') return null;
  const days = DAYS.find((one) => String(one) === ends);
  if (days !== undefined) return isoTime(now + days * DAY_MS);
  throw invalidField('ends', `ends must be never, keep, or a number of days: ${DAYS.join(', ')}`);
}

/** Returns the limits in words, one per line; empty if there are none. */
function describeLimits({ limits, expiresAt }: Limited): string[] {
  const approval =
    limits.approval === 'broadcasts'
      ? `sends a broadcast, starts an automation, or sends to more than ${limits.approvalAbove} recipients a day`
      : APPROVALS.find(({ value }) => value === limits.approval)?.label;
  return [
    limits.readOnly ? 'Read-only access' : '',
    limits.approval === 'none' ? '' : `Asks you before it ${approval}`,
    limits.recipients === 'any' ? '' : 'Sends only to addresses at your team’s own domains',
    limits.emailsPerDay === null ? '' : `Sends at most ${limits.emailsPerDay} emails per day`,
    expiresAt === null ? '' : `Access expires ${timeInWords(expiresAt)}`,
  ].filter((line) => line !== '');
}

const PATH = '/account/apps';

const MESSAGES: Readonly<Record<string, string>> = {
  ended: 'The access of the app was revoked.',
  limited: 'The limits were saved.',
};

type PersonCtx = PageCtx & { session: SignedIn };

/** Lists the apps that the person has authorized, in every team. */
export const appsPage: PeoplePage = {
  path: PATH,
  get: forSignedIn((ctx, { query }) =>
    showApps(ctx, { after: query.get('after'), said: MESSAGES[query.get('said') ?? ''] }),
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
    title: 'Authorized apps',
    content: [
      said === undefined ? '' : renderStatus(said),
      fault ? renderAlert(fault.message) : '',
      rows.length === 0
        ? '<p>You have not authorized any apps.</p>'
        : `<p>These apps can act for you in the team that is shown, until you revoke their access. They chose their own names; this service does not verify who made them.</p><ul class="rows">${rows.map(renderRow).join('')}</ul>`,
      renderLinks(
        hasMore ? renderLink(`${PATH}?after=${rows.at(-1)?.id ?? ''}`, 'Older apps') : '',
        renderLink('/account', 'Back to your account'),
      ),
    ].join('\n'),
    ...afterFault(fault),
  };
}

function renderRow(row: Row): string {
  const since = timeInWords(row.created_at);
  const used = row.last_used_at === null ? 'never used' : `last used ${timeInWords(row.last_used_at)}`;
  const scopes = row.scopes.split(' ').map((scope) => `<li>${escapeHtml(SCOPES[scope as Scope] ?? scope)}</li>`);
  const end = renderForm({
    action: PATH,
    submit: 'Revoke access',
    describedAs: `Revoke access of ${row.client_name}, authorized ${since}`,
    isSecond: true,
    hidden: { grant_id: row.id },
    id: `end-${row.id}`,
  });
  const limits = describeLimits({ limits: readStored(row.limits), expiresAt: row.expires_at });
  const lines = limits.map((line) => `<li>${escapeHtml(line)}</li>`).join('');
  const limited = lines === '' ? '' : `<p>Limits:</p><ul>${lines}</ul>`;
  const change = renderLink(`${PATH}/limits?grant=${row.id}`, `Change the limits of ${row.client_name}`);
  return `<li><div>${bdi(row.client_name)}<br><span class="quiet">In ${bdi(row.team_name)}, authorized ${since}, ${used}</span><ul>${scopes.join('')}</ul>${limited}${change}</div>${end}</li>`;
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
    const done = await attempt((async () => limitOwnGrant(own, id, readLimits(form, store.clock.now())))());
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
    title: 'App limits',
    content: [
      `<p>These limits apply to ${bdi(grant.client_name)} from its next API call.</p>`,
      renderForm({ action: LIMITS_PATH, submit: 'Save limits', fields, hidden: { grant_id: grant.id }, fault }),
      renderLinks(renderLink('/account/apps', 'Back to authorized apps')),
    ].join('\n'),
    ...afterFault(fault),
  };
}

const CONSENT_PATH = '/oauth/consent';

/** Asks a person to authorize an app. It asks every time, even if the person has authorized the app before. */
export const consentPage: PeoplePage = {
  path: CONSENT_PATH,
  get: forSignedIn(async (ctx, { query }) => {
    const read = await readAuthorization(ctx.store, Object.fromEntries(query));
    if (read.kind === 'unknown') return renderUnknownApp(read.say);
    if (read.kind === 'refused') return { to: read.to };
    const ask = await askForConsent(toConsentCtx(ctx), ctx.session.teamId, read);
    return ask ? renderConsent(ctx, read, ask) : renderNoTeam();
  }),
  post: forSignedIn(async (ctx, { form }) => {
    const decision = form.get('decision');
    if (decision !== 'allow' && decision !== 'refuse') return renderNoDecision();
    const answer = await attempt(saveDecision(ctx, form, decision === 'allow'));
    if (!(answer instanceof Refusal)) return { to: answer };
    // A limit or the scopes are not valid. The form on the previous page can still be sent.
    if (answer.errors) return renderLimitFault(answer);
    throw answer;
  }),
};

async function saveDecision(ctx: PageCtx & { session: SignedIn }, form: Fields, isAllowed: boolean): Promise<string> {
  const decision = isAllowed && {
    limits: readLimits(form, ctx.store.clock.now()),
    scopes: SCOPE_NAMES.filter((scope) => isTicked(form, toScopeField(scope))),
  };
  return answerConsent(toConsentCtx(ctx), form.get('consent') ?? '', decision);
}

const toConsentCtx = ({ store, browser, requestId, session }: PageCtx & { session: SignedIn }) => ({
  store,
  browser,
  requestId,
  actor: session.actor,
});

/**
 * Renders the consent page. The app's logo is neither fetched nor shown, because anybody can register any picture; its
 * name is text of an untrusted client.
 */
function renderConsent(
  { store, session: { actor } }: PageCtx & { session: SignedIn },
  { client, request }: Asked,
  { token, team, before }: Pick<Ask, 'token' | 'team' | 'before'>,
): Shown {
  const target = new URL(request.redirectUri);
  const place = target.host === '' ? target.protocol : target.host;
  const now = store.clock.now();
  const { limited, days } = chooseStart(request.scopes, before, now);
  const fields = limitFields(request.scopes, limited, days);
  const groups = groupScopes(request.scopes);
  return {
    title: 'Authorize an app',
    heading: `Authorize ${bdi(client.name)}`,
    content: [
      `<p>This app asks to act for you in the team <strong>${bdi(team.name)}</strong>. It asks to ${joinWords(groups.map(({ verb }) => `<strong>${verb}</strong>`))}. ${describeStart(request.scopes, before)}</p>`,
      `<p>You return to <strong>${bdi(place)}</strong>. This service does not verify who made the app. Authorize it only if you started this yourself.</p>`,
      renderForm({
        action: CONSENT_PATH,
        decisions: { name: 'decision', choices: DECISIONS },
        above: `<h2>This app will be able to</h2>${groups.map(renderScopes).join('')}<h2>Limits</h2>`,
        fields,
        hidden: { consent: token },
        id: 'allow',
      }),
      before ? renderEarlierGrant(before) : '',
      '<h2>About this access</h2>',
      request.resource === 'mcp' ? '<p>This access works only through the MCP server of this service.</p>' : '',
      `<dl><div><dt>Signed in as</dt><dd>${bdi(actor.name)} (role in the team: ${actor.role ?? 'none'})</dd></div></dl>`,
      '<p>The app can never do more than your own role allows. You can revoke access at any time in your account, under Authorized apps; so can an admin of the team.</p>',
    ].join('\n'),
    formsLeadTo: [toPolicySource(target)],
  };
}

const DECISIONS = [
  { value: 'allow', label: 'Authorize' },
  { value: 'refuse', label: 'Cancel', isSecond: true },
];

const SAFE_DAYS = 90;
/** The settings that the form starts with for an app that the person has not authorized before. */
const SAFE_START: Limited = { limits: { ...NO_LIMITS, approval: 'sends' }, expiresAt: null };

type Earlier = NonNullable<Ask['before']>;

/** Reports whether the app asks for sending, or for any changes, for which its earlier access, if any, had no scope. */
function beginsToSend(scopes: readonly Scope[], before: Earlier | undefined): boolean {
  const kinds = [(scope: Scope) => MAY_SEND.has(scope), (scope: Scope) => !scope.endsWith(':read')];
  return kinds.some((isOfKind) => scopes.some(isOfKind) && !before?.scopes.some(isOfKind));
}

/**
 * Chooses what the form is filled in with: the limits of the earlier access, or safe ones. When that access was given,
 * nobody was asked about an app that sends, so its limits are not taken for a decision about this.
 */
function chooseStart(
  scopes: readonly Scope[],
  before: Earlier | undefined,
  now: number,
): { limited: Limited; days: number | null } {
  if (!before) return { limited: SAFE_START, days: SAFE_DAYS };
  const days = chooseDays(before, now);
  if (!beginsToSend(scopes, before)) return { limited: before, days };
  const approval = before.limits.approval === 'changes' ? 'changes' : SAFE_START.limits.approval;
  return { limited: { ...before, limits: { ...before.limits, approval } }, days: days ?? SAFE_DAYS };
}

/** Describes in a sentence what the form is filled in with. */
function describeStart(scopes: readonly Scope[], before: Earlier | undefined): string {
  if (before && beginsToSend(scopes, before))
    return 'It already has access, but that access cannot send email. Unless you change this below, you approve each email before it is sent.';
  if (before) return 'It already has access, and the settings of that access are filled in below.';
  const asks = scopes.some((scope) => MAY_SEND.has(scope)) ? 'you approve each email before it is sent, and ' : '';
  return `Unless you change this below, ${asks}access expires after ${SAFE_DAYS} days.`;
}

type Kind = 'read' | 'prepare' | 'send' | 'manage';

const GROUPS: readonly { kind: Kind; verb: string; title: string }[] = [
  { kind: 'read', verb: 'read data', title: 'Read' },
  { kind: 'prepare', verb: 'prepare content', title: 'Prepare' },
  { kind: 'send', verb: 'send email', title: 'Send' },
  { kind: 'manage', verb: 'manage settings', title: 'Manage' },
];

/** The kinds of the scopes that do more than read. */
const KINDS: Readonly<Record<Exclude<Scope, `${string}:read`>, Kind>> = {
  'templates:write': 'prepare',
  'contacts:write': 'prepare',
  'events:write': 'prepare',
  'ai:use': 'prepare',
  'emails:send': 'send',
  'inbox:write': 'send',
  'broadcasts:write': 'send',
  'events:send': 'send',
  'automations:write': 'send',
  'suppressions:write': 'manage',
  'team:write': 'manage',
};

/** Returns the groups that have one of these scopes, each with its own. */
const groupScopes = (scopes: readonly Scope[]) =>
  GROUPS.map((group) => ({ ...group, scopes: scopes.filter((scope) => toKind(scope) === group.kind) })).filter(
    (group) => group.scopes.length > 0,
  );

const isReading = (scope: Scope): scope is Extract<Scope, `${string}:read`> => scope.endsWith(':read');
const toKind = (scope: Scope): Kind => (isReading(scope) ? 'read' : KINDS[scope]);

/** Returns the name of the field that allows a scope. */
const toScopeField = (scope: Scope): string => `scope.${scope}`;

function renderScopes({ title, kind, scopes }: ReturnType<typeof groupScopes>[number]): string {
  const boxes = scopes.map((scope) => {
    const id = `scope-${scope.replace(':', '-')}`;
    return `<div class="topic scope"><input id="${id}" name="${toScopeField(scope)}" type="checkbox" value="yes" checked aria-describedby="${id}-name"><label for="${id}">${escapeHtml(SCOPES[scope])}</label><span id="${id}-name"><code>${scope}</code></span></div>`;
  });
  return `<fieldset><legend id="scopes-${kind}"><strong>${title}</strong></legend>${boxes.join('')}</fieldset>`;
}

/** Joins words like "a, b and c". */
const joinWords = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;

/**
 * Describes an earlier grant of the same app. Each grant keeps its own limits, so that an app cannot shed them by asking
 * again.
 */
function renderEarlierGrant(before: Limited): string {
  const limits = describeLimits(before).map((line) => `<li>${escapeHtml(line)}</li>`);
  const kept = limits.length === 0 ? 'It has no limits.' : `Its limits are:</p><ul>${limits.join('')}</ul><p>`;
  return `<h2>This app already has access</h2><p>${kept} The form above starts with the same settings. If you authorize it again, the earlier access stays, with its own limits. The daily numbers of emails count both together. If you no longer need the earlier access, ${renderLink('/account/apps', 'revoke it')}.</p>`;
}

/** Returns the target as a Content-Security-Policy source. An IPv6 address cannot be expressed, so its scheme is used. */
function toPolicySource(target: URL): string {
  // Any other character could end the directive, or match every host.
  const isPlain = /^https?:$/.test(target.protocol) && /^[a-z0-9._-]+$/.test(target.hostname);
  return isPlain ? target.origin : target.protocol;
}

const renderUnknownApp = (say: string): Shown => ({
  title: 'This app cannot be authorized',
  content: `<p>${bdi(say)}</p><p>No access was granted.</p>`,
  status: 400,
  isFault: true,
});

const renderNoDecision = (): Shown => ({
  title: 'Request not understood',
  content: '<p>No decision was sent. Go back and choose Authorize or Cancel.</p>',
  status: 400,
  isFault: true,
});

const renderLimitFault = ({ message, status }: Refusal): Shown => ({
  title: 'These settings cannot be used',
  content: `<p>${bdi(message)}</p><p>No access was granted yet. Go back to the previous page and correct the settings.</p>`,
  status,
  isFault: true,
});

const renderNoTeam = (): Shown => ({
  title: 'Choose a team first',
  content: `<p>An app acts in a team, and no team is selected in your session. Choose a team, then go back to the app and start again.</p>${renderLinks(renderLink('/account', 'Your account'))}`,
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
    // A form without a decision comes from the page that asks for the code: show the program first.
    if (!isVerb(decision)) return { to: `${DEVICE_PATH}?code=${encodeURIComponent(code)}` };
    const done = await attempt(call(VERBS[decision], { body: { user_code: code } }));
    return done instanceof Refusal ? askForCode(code, done) : renderDecision(done);
  }),
};

const askForCode = (code?: string, fault?: Refusal): Shown =>
  showForm(
    'Authorize a device',
    {
      action: DEVICE_PATH,
      submit: 'Continue',
      fields: [{ name: 'user_code', label: 'Code shown by the program', autocomplete: 'off', value: code }],
      fault: fault?.status === 404 ? codeNotFound() : fault,
    },
    { above: '<p>A command-line tool or another program without a browser asked you to open this page.</p>' },
  );

const codeNotFound = (): Refusal =>
  refuse('not_found', { say: 'This code is not valid or has expired. A code is valid for ten minutes.' });

function askForDecision(asks: Asks, code: string, { actor }: SignedIn): Shown {
  if (asks.status !== 'pending') return renderDecision(asks);
  const rows = [
    ['Program', bdi(asks.client_name)],
    ['IP address', bdi(asks.address)],
    ['User agent', bdi(asks.user_agent)],
    ['Requested at', bdi(asks.created_at.replace('T', ' ').replace(/\.\d+Z$/, ' UTC'))],
    ['Will be signed in as', bdi(actor.name)],
  ].map(([label, value]) => `<div><dt>${label}</dt><dd>${value}</dd></div>`);
  const form = (decision: string, submit: string, isSecond = false): string =>
    renderForm({ action: DEVICE_PATH, submit, isSecond, hidden: { user_code: code, decision }, id: decision });
  return {
    title: 'Authorize this device?',
    content: [
      `<dl>${rows.join('')}</dl>`,
      '<p>Approve only if you just started this program yourself and it shows the code below. It will be able to do everything that you can do.</p>',
      `<p class="codes"><strong>${bdi(code)}</strong></p>`,
      form('approve', 'Approve'),
      '<p></p>',
      form('deny', 'Deny', true),
    ].join('\n'),
  };
}

const renderDecision = ({ status, client_name: name }: Asks): Shown => ({
  title: status === 'approved' ? 'Approved' : 'Denied',
  content: [
    renderStatus(
      status === 'approved'
        ? `${name} will be signed in within a few seconds. You can close this page.`
        : `${name} was not signed in. You can close this page.`,
    ),
    renderLinks(renderLink('/account', 'Your account')),
  ].join('\n'),
});
