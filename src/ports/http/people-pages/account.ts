import type { AnswerOf } from '../../../contract/index.ts';
import { START_PATH } from '../../../features/identity/index.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { ssoTeamOfSession } from '../../../tenancy/session-rows/index.ts';
import { bdi } from '../layout/index.ts';
import { timeInWords } from '../share-page/index.ts';
import { attempt, forSignedIn, renderAlert, renderForm, renderLink, renderLinks, renderStatus } from './elements.ts';
import type { PageCtx, PeoplePage, Shown, SignedIn } from './page.ts';

/** Messages by the value of the `said` parameter, which a page sets when it redirects here after a change. */
const MESSAGES: Readonly<Record<string, string>> = {
  joined: 'You joined the team.',
  switched: 'You switched to another team.',
  'password-changed': 'Your password was changed. You were signed out of all other sessions.',
};

type PersonCtx = PageCtx & { session: SignedIn };

export const accountPage: PeoplePage = {
  path: '/account',
  get: forSignedIn((ctx, { query }) => showAccount(ctx, { said: MESSAGES[query.get('said') ?? ''] })),
};

/** Switches the session to a team chosen from the list of teams. */
export const teamPage: PeoplePage = {
  path: '/account/team',
  get: async () => ({ to: '/account' }),
  post: forSignedIn(async (ctx, { form }) => {
    const done = await attempt(ctx.call('switchTeam', { path: { team_id: form.get('team_id') ?? '' } }));
    return done instanceof Refusal ? showAccount(ctx, { fault: done }) : { to: '/account?said=switched' };
  }),
};

type OwnTeam = AnswerOf<'getMe'>['teams'][number];

/** Tells the people who can mend it that nobody can sign in through the identity provider of the team. */
async function renderSsoFailure({ call, session, findRefusal }: PersonCtx, teams: readonly OwnTeam[]): Promise<string> {
  const team = teams.find(({ id }) => id === session.teamId);
  if (!team?.sso || findRefusal('getSso')) return '';
  const { failing_since: since, last_failure: failure } = await call('getSso', { path: { team_id: team.id } });
  if (since === null || failure === null) return '';
  return renderAlert(
    `Nobody can sign in to ${team.name} with single sign-on since ${timeInWords(Date.parse(since))}: ${failure.reason}.`,
    'sso-failure',
  );
}

async function showAccount(
  ctx: PersonCtx,
  { said, fault }: { said?: string | undefined; fault?: Refusal },
): Promise<Shown> {
  const { store, call, session } = ctx;
  const me = await call('getMe', {});
  const mfa = await call('getMfa', {});
  const isBySso = (await ssoTeamOfSession(store.db, session.actor.sessionId)) !== null;
  const rows: [string, string][] = [
    ['Email', `${bdi(me.email)}${me.email_verified_at === null ? ' (not verified)' : ''}`],
    ['Name', me.name === null ? '' : bdi(me.name)],
    ['Two-factor authentication', mfa.enabled ? `On (recovery codes left: ${mfa.recovery_codes_remaining})` : 'Off'],
  ];
  const teams = me.teams.map(
    ({ id, name }) =>
      `<li><div>${bdi(name)}${id === me.current_team_id ? ` <span class="quiet">current team, your role: ${session.actor.role ?? 'none'}</span>` : ''}</div>${
        id === me.current_team_id ? '' : switchForm(id, name)
      }</li>`,
  );
  return {
    title: 'Your account',
    content: [
      said === undefined ? '' : renderStatus(said),
      fault ? renderAlert(fault.message) : '',
      session.actor.closedBecause === undefined
        ? ''
        : `${renderAlert(session.actor.closedBecause, 'closed')}${renderLinks(renderLink(START_PATH, 'Sign in with single sign-on'))}`,
      await renderSsoFailure(ctx, me.teams),
      `<dl>${rows
        .filter(([, value]) => value !== '')
        .map(([name, value]) => `<div><dt>${name}</dt><dd>${value}</dd></div>`)
        .join('')}</dl>`,
      renderLinks(
        renderLink('/account/password', mfa.has_password ? 'Change your password' : 'Choose a password'),
        renderLink(
          '/account/mfa',
          mfa.enabled ? 'Manage two-factor authentication' : 'Set up two-factor authentication',
        ),
        renderLink('/account/sessions', 'Where you are signed in'),
        renderLink('/account/apps', 'Authorized apps'),
        renderLink('/account/approvals', 'Approval requests'),
      ),
      '<h2>Your teams</h2>',
      teams.length === 0
        ? '<p>You are not a member of a team. An owner or admin of a team can invite you.</p>'
        : `<ul class="rows">${teams.join('')}</ul>`,
      isBySso
        ? '<p>You signed in with single sign-on, which gives access to this team only. To use your other teams, or to change your password or two-factor authentication, sign in with your password.</p>'
        : '',
      renderForm({ action: '/sign-out', submit: 'Sign out', isSecond: true, id: 'out' }),
    ].join('\n'),
    ...(fault ? { status: fault.status, isFault: true } : {}),
  };
}

const switchForm = (id: string, name: string): string =>
  renderForm({
    action: '/account/team',
    submit: 'Switch',
    describedAs: `Switch to ${name}`,
    isSecond: true,
    hidden: { team_id: id },
    id: `team-${id}`,
  });

export const sessionsPage: PeoplePage = {
  path: '/account/sessions',
  get: forSignedIn((ctx, { query }) =>
    showSessions(ctx, {
      after: query.get('after'),
      said: query.get('said') === 'ended' ? 'The session was ended.' : undefined,
    }),
  ),
  post: forSignedIn(async (ctx, { form }) => {
    const done = await attempt(ctx.call('endSession', { path: { session_id: form.get('session_id') ?? '' } }));
    // If the session has ended in the meantime, the person has what they wanted.
    if (done instanceof Refusal && done.status !== 404) return showSessions(ctx, { fault: done });
    return { to: '/account/sessions?said=ended' };
  }),
};

async function showSessions(
  { call }: PersonCtx,
  { after, said, fault }: { after?: string | undefined; said?: string | undefined; fault?: Refusal },
): Promise<Shown> {
  const { data, has_more: hasMore } = await call('listSessions', { query: after === undefined ? {} : { after } });
  const rows = data.map((one) => {
    const what = one.client_name ?? browserInWords(one.user_agent);
    const when = `Signed in ${timeInWords(Date.parse(one.created_at))}, last used ${timeInWords(Date.parse(one.last_used_at))}`;
    const where = one.address === null ? '' : `, from ${bdi(one.address)}`;
    const end = one.is_current
      ? '<strong>This session</strong>'
      : renderForm({
          action: '/account/sessions',
          submit: 'End session',
          describedAs: `End session: ${what}, signed in ${timeInWords(Date.parse(one.created_at))}`,
          isSecond: true,
          hidden: { session_id: one.id },
          id: `end-${one.id}`,
        });
    return `<li><div>${bdi(what)}<br><span class="quiet">${when}${where}${one.team ? `, in ${bdi(one.team.name)}` : ''}</span></div>${end}</li>`;
  });
  return {
    title: 'Where you are signed in',
    content: [
      said === undefined ? '' : renderStatus(said),
      fault ? renderAlert(fault.message) : '',
      `<ul class="rows">${rows.join('')}</ul>`,
      renderForm({
        action: '/sign-out',
        submit: 'Sign out everywhere',
        isSecond: true,
        hidden: { all: 'yes' },
        id: 'all',
      }),
      renderLinks(
        hasMore ? renderLink(`/account/sessions?after=${data.at(-1)?.id ?? ''}`, 'Older sessions') : '',
        renderLink('/account', 'Back to your account'),
      ),
    ].join('\n'),
    ...(fault ? { status: fault.status, isFault: true } : {}),
  };
}

const BROWSERS: readonly [RegExp, string][] = [
  [/\bEdg(?:A|iOS)?\//, 'Edge'],
  [/\b(?:OPR|Opera)\//, 'Opera'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|Chromium|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];
const SYSTEMS: readonly [RegExp, string][] = [
  [/\b(?:iPhone|iPad)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
];

/** Returns the common name of a browser and its system, or its User-Agent if it is unknown. */
function browserInWords(agent: string | null): string {
  const browser = BROWSERS.find(([form]) => form.test(agent ?? ''))?.[1];
  const system = SYSTEMS.find(([form]) => form.test(agent ?? ''))?.[1];
  if (browser === undefined) return agent === null || agent === '' ? 'Unknown browser' : agent.slice(0, 80);
  return system === undefined ? browser : `${browser} on ${system}`;
}
