import { SCOPES, type Scope } from '../../../contract/index.ts';
import { Refusal } from '../../../platform/refusal/index.ts';
import { escapeHtml } from '../../../protocol/safe-html/index.ts';
import { listOwnGrants, readStored, revokeOwnGrant } from '../../../features/identity/oauth/index.ts';
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
} from './elements.ts';
import { limitsInWords } from './grant-limits.ts';
import type { PageCtx, PeoplePage, Shown, SignedIn } from './page.ts';

const PATH = '/account/apps';

const SAID: Readonly<Record<string, string>> = { ended: 'It has ended.', limited: 'The limits are set.' };

type PersonCtx = PageCtx & { session: SignedIn };

/** What the person has let in, in every team. */
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
    ...{ action: PATH, submit: 'End it', describedAs: `End ${row.client_name}, since ${since}` },
    ...{ isSecond: true, hidden: { grant_id: row.id }, id: `end-${row.id}` },
  });
  const limits = limitsInWords({ limits: readStored(row.limits), expiresAt: row.expires_at });
  const lines = limits.map((line) => `<li>${escapeHtml(line)}</li>`).join('');
  const limited = lines === '' ? '' : `<p>Kept to less:</p><ul>${lines}</ul>`;
  const change = renderLink(`${PATH}/limits?grant=${row.id}`, `Change the limits of ${row.client_name}`);
  return `<li><div>${bdi(row.client_name)}<br><span class="quiet">In ${bdi(row.team_name)}, since ${since}, ${used}</span><ul>${scopes.join('')}</ul>${limited}${change}</div>${end}</li>`;
}
