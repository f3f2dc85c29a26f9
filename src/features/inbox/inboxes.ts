import type {
  CreateInboxRequest,
  UpdateInboxAgentRequest,
  UpdateInboxRequest,
  CreateInboxLabelRequest,
  UpdateInboxLabelRequest,
} from '../../contract/index.ts';
import { recordEvents } from '../../mail/events/index.ts';
import { isUniqueViolation, type Page, type Executor } from '../../platform/db/index.ts';
import { refuse, notFound, invalidField, invalidFields } from '../../platform/refusal.ts';
import { lockTeam, type Ctx, type Actor } from '../../tenancy/access/index.ts';
import { lockDomain, findDomainByName, maySend, receivingNames, type DomainRow } from '../../mail/domains/index.ts';
import {
  countInboxes,
  insertInbox,
  channelRows,
  draftsIn,
  findInbox,
  listInboxRows,
  unreadIn,
  inboxesOfDomain,
  lockInbox,
  markInboxDeleted,
  updateInboxRow,
  insertLabel,
  listLabels,
  markLabelDeleted,
  updateLabelRow,
  type NewInbox,
  type InboxChange,
} from './store/inboxes.store.ts';
import { presentInbox, toEventSource, presentInboxItem } from './store/present.ts';
import type { InboxRow } from './store/rows.ts';
import { isoTime } from '../../platform/clock.ts';
import { foldForSearch } from '../../mail/emails/index.ts';
import { normalizeAddress, parseAddress, parseDomainName } from '../../protocol/address/index.ts';

/** Prefix of the address of an inbox that receives all mail of its domain for which there is no other inbox. */
const CATCH_ALL = '*@';

interface InboxAddress {
  address: string;
  key: string;
  domain: DomainRow;
  receivingAddress: string | null;
}

/**
 * Reads the address of a new inbox; its domain must be able to send, and to receive unless the mail is forwarded here.
 */
async function readInboxAddress(
  { store, teamId }: Ctx,
  { email_address: given, forwarding = false }: { email_address: string; forwarding?: boolean | undefined },
): Promise<InboxAddress> {
  const { address, key, domainName } = readAddress(given.trim());
  const domain = await findDomainByName(store.db, teamId, domainName);
  if (!domain) throw unfit(`${domainName} is not a domain of this team; add it first`);
  if (!maySend(domain))
    throw unfit(`${domainName} is not verified for sending, so the inbox could not send replies; verify it first`);
  if (!forwarding) {
    if (domain.receiving === 'enabled') return { address, key, domain, receivingAddress: null };
    throw unfit(`${domainName} does not receive mail; enable receiving for it, or send forwarding: true`);
  }
  if (key.startsWith(CATCH_ALL)) throw unfit('an inbox with forwarding needs a single address, not *@ and a domain');
  const names = await receivingNames(store.db, teamId);
  const name = names.includes(domainName) ? domainName : names[0];
  if (name === undefined) {
    throw invalidField(
      'forwarding',
      'forwarding needs a domain of this team that receives mail; enable receiving for one first.',
    );
  }
  return { address, key, domain, receivingAddress: `inbox-${store.ids.hex(8)}@${name}` };
}

function readAddress(given: string): { address: string; key: string; domainName: string } {
  if (given.startsWith(CATCH_ALL)) {
    const parsed = parseDomainName(given.slice(CATCH_ALL.length));
    if (!parsed.ok) throw malformed(parsed.fault);
    const key = `${CATCH_ALL}${parsed.domain}`;
    return { address: key, key, domainName: parsed.domain };
  }
  const parsed = parseAddress(given);
  if (!parsed.ok) throw malformed(parsed.fault);
  const { address, domain } = parsed.mailbox;
  return { address, key: normalizeAddress(address), domainName: domain };
}

const malformed = (says: string) => invalidFields([{ path: 'email_address', message: `email_address: ${says}` }]);
const unfit = (says: string) => invalidField('email_address', `email_address: ${says}`);

/** Returns every key under which an inbox may receive mail for an address; the first existing one gets it. */
export function listInboxKeys(address: string): string[] {
  const key = normalizeAddress(address);
  const at = key.lastIndexOf('@');
  const local = key.slice(0, at);
  // A tag may follow an address that has a plus sign itself.
  const untagged = [local.lastIndexOf('+'), local.indexOf('+')]
    .filter((plus) => plus > 0)
    .map((plus) => `${local.slice(0, plus)}${key.slice(at)}`);
  return [key, ...untagged, `${CATCH_ALL}${key.slice(at + 1)}`];
}

const INBOXES_MAX = 100;

export async function createInbox(ctx: Ctx, input: CreateInboxRequest) {
  const { store, teamId, actor } = ctx;
  const { address, key, domain, receivingAddress } = await readInboxAddress(ctx, input);
  const at = store.clock.now();
  const row: NewInbox = {
    id: store.ids.uuid(),
    team_id: teamId,
    domain_id: domain.id,
    address,
    address_key: key,
    receiving_address: receivingAddress,
    name: input.name ?? null,
    from_name: input.from_name ?? null,
    channel: input.channel ?? 'open',
    signature: input.signature ?? null,
    thread_by_subject: input.thread_by_subject === true ? 1 : 0,
    agent_instructions: null,
    agent_tone: null,
    agent_actions: '[]',
    last_received_at: null,
    created_at: at,
    updated_at: at,
  };
  try {
    await store.db.tx(async (tx) => {
      await lockTeam(tx, teamId);
      if ((await countInboxes(tx, teamId)) >= INBOXES_MAX) throw refuseMoreInboxes();
      // It may have been deleted since it was read.
      if (!(await lockDomain(tx, teamId, domain.id))) throw domainGone(domain.name);
      await insertInbox(tx, row);
      const inbox = presentInbox({ ...row, deleted_at: null }, { unread: 0, drafts: 0 });
      const data = { source: toEventSource(actor), inbox_id: row.id, inbox };
      await recordEvents(tx, store.ids, [{ teamId, type: 'inbox.created', subjectId: row.id, data, at }]);
    });
  } catch (error) {
    throw isUniqueViolation(error) ? addressTaken(address) : error;
  }
  return { object: 'inbox' as const, id: row.id };
}

const addressTaken = (address: string) => refuse('resource_locked', { say: `There is already an inbox ${address}.` });

const refuseMoreInboxes = () =>
  refuse('validation_error', { status: 422, say: `A team may have at most ${INBOXES_MAX} inboxes; delete one first.` });

const domainGone = (name: string) =>
  refuse('validation_error', { status: 422, say: `email_address: ${name} is no longer a domain of this team.` });

const LABELS_MAX = 100;
const GREY = '#8B8D98';

export async function listInboxLabels(ctx: Ctx, named: string) {
  const inbox = await inboxNamed(ctx, named);
  const rows = await listLabels(ctx.store.db, inbox.id);
  const data = rows.map(({ id, name, color, created_at: at }) => ({
    id,
    name,
    color,
    created_at: isoTime(Number(at)),
  }));
  return { object: 'list' as const, data };
}

export async function createInboxLabel(ctx: Ctx, named: string, { name, color = GREY }: CreateInboxLabelRequest) {
  const { store, teamId } = ctx;
  const inbox = await inboxNamed(ctx, named);
  const id = store.ids.uuid();
  const row = { id, inbox_id: inbox.id, name, name_key: toKey(name), color, created_at: store.clock.now() };
  await unlessTaken(name, async () => {
    await store.db.tx(async (tx) => {
      if (!(await lockInbox(tx, teamId, inbox.id))) throw notFound('Inbox');
      if ((await listLabels(tx, inbox.id)).length >= LABELS_MAX) throw refuseMoreLabels();
      await insertLabel(tx, row);
    });
  });
  return { object: 'inbox_label' as const, id };
}

export async function updateInboxLabel(ctx: Ctx, named: string, id: string, input: UpdateInboxLabelRequest) {
  const inbox = await inboxNamed(ctx, named);
  const { name, color } = input;
  const change = {
    ...(name === undefined ? {} : { name, name_key: toKey(name) }),
    ...(color === undefined ? {} : { color }),
  };
  await unlessTaken(name ?? '', async () => {
    if (!(await ctx.store.db.tx((tx) => updateLabelRow(tx, inbox.id, id, change)))) throw notFound('Label');
  });
  return { object: 'inbox_label' as const, id };
}

export async function deleteInboxLabel(ctx: Ctx, named: string, id: string) {
  const inbox = await inboxNamed(ctx, named);
  const at = ctx.store.clock.now();
  if (!(await ctx.store.db.tx((tx) => markLabelDeleted(tx, inbox.id, id, at)))) throw notFound('Label');
  return { object: 'inbox_label' as const, id, deleted: true as const };
}

const toKey = (name: string): string => foldForSearch(name.trim());

async function unlessTaken(name: string, write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw refuse('invalid_parameter', {
      say: `name: a label named ${JSON.stringify(name)} already exists; choose another name.`,
    });
  }
}

const refuseMoreLabels = () =>
  refuse('validation_error', {
    status: 422,
    say: `An inbox may have at most ${LABELS_MAX} labels; delete one first.`,
  });

export async function updateInbox(ctx: Ctx, named: string, input: UpdateInboxRequest) {
  const { thread_by_subject: bySubject, ...rest } = input;
  const change = { ...rest, ...(bySubject === undefined ? {} : { thread_by_subject: bySubject ? 1 : 0 }) };
  return { object: 'inbox' as const, id: await changeInbox(ctx, named, change) };
}

export async function getInboxAgent(ctx: Ctx, named: string) {
  const row = await inboxNamed(ctx, named);
  return {
    object: 'inbox_agent' as const,
    instructions: row.agent_instructions,
    tone: row.agent_tone as Exclude<UpdateInboxAgentRequest['tone'], undefined>,
    actions: JSON.parse(row.agent_actions) as NonNullable<UpdateInboxAgentRequest['actions']>,
  };
}

export async function updateInboxAgent(ctx: Ctx, named: string, input: UpdateInboxAgentRequest) {
  const id = await changeInbox(ctx, named, {
    ...(input.instructions === undefined ? {} : { agent_instructions: input.instructions }),
    ...(input.tone === undefined ? {} : { agent_tone: input.tone }),
    ...(input.actions === undefined ? {} : { agent_actions: JSON.stringify([...new Set(input.actions)]) }),
  });
  return { object: 'inbox_agent' as const, id };
}

async function changeInbox(ctx: Ctx, named: string, change: InboxChange): Promise<string> {
  const { store, teamId, actor } = ctx;
  const { id } = await inboxNamed(ctx, named);
  const at = store.clock.now();
  await store.db.tx(async (tx) => {
    const row = await lockInbox(tx, teamId, id);
    if (!row) throw notFound('Inbox');
    await updateInboxRow(tx, id, change, at);
    const unread = (await unreadIn(tx, [id])).get(id) ?? 0;
    const inbox = presentInbox({ ...row, ...change, updated_at: at }, { unread, drafts: await draftsIn(tx, id) });
    const data = { source: toEventSource(actor), inbox_id: id, inbox };
    await recordEvents(tx, store.ids, [{ teamId, type: 'inbox.updated', subjectId: id, data, at }]);
  });
  return id;
}

/** Deletes an inbox. Its threads are hidden with it at once; their rows are removed in the background. */
export async function deleteInbox(ctx: Ctx, named: string) {
  const { id } = await inboxNamed(ctx, named);
  await ctx.store.db.tx(async (tx) => {
    if (!(await endInbox(tx, ctx, id))) throw notFound('Inbox');
  });
  return { object: 'inbox' as const, id, deleted: true as const };
}

/** Runs in the transaction that deletes the domain. */
export async function deleteInboxesOfDomain(tx: Executor, ctx: Ctx, domainId: string): Promise<void> {
  for (const { id } of await inboxesOfDomain(tx, domainId)) await endInbox(tx, ctx, id);
}

async function endInbox(tx: Executor, { store, teamId, actor }: Ctx, id: string): Promise<boolean> {
  const at = store.clock.now();
  if (!(await markInboxDeleted(tx, teamId, id, at))) return false;
  const data = { source: toEventSource(actor), inbox_id: id };
  await recordEvents(tx, store.ids, [{ teamId, type: 'inbox.deleted', subjectId: id, data, at }]);
  return true;
}

/** Finds an inbox by its id or its address. Throws if the team has none, or if the caller may not access it. */
export async function inboxNamed({ store, teamId, actor }: Ctx, named: string): Promise<InboxRow> {
  const row = await findInbox(store.db, teamId, named);
  if (!row || (row.channel !== 'open' && !reachesEvery(actor))) throw notFound('Inbox');
  return row;
}

/**
 * Returns whether a caller may access the restricted and personal inboxes of a team: its owners and admins, keys with
 * full access, and the program itself. Other members, viewers and all apps may access only the open ones.
 */
function reachesEvery(actor: Actor): boolean {
  if (actor.kind === 'session') return actor.role === 'owner' || actor.role === 'admin';
  return actor.kind === 'job' || (actor.kind === 'api_key' && actor.domainId === null);
}

export async function getInbox(ctx: Ctx, named: string) {
  const row = await inboxNamed(ctx, named);
  const { db } = ctx.store;
  const unread = (await unreadIn(db, [row.id])).get(row.id) ?? 0;
  return presentInbox(row, { unread, drafts: await draftsIn(db, row.id) });
}

export async function listInboxes({ store, teamId, actor }: Ctx, page: Page) {
  const { rows, hasMore } = await listInboxRows(store.db, teamId, { ...page, onlyOpen: !reachesEvery(actor) });
  const unread = await unreadIn(
    store.db,
    rows.map((row) => row.id),
  );
  const data = rows.map((row) => presentInboxItem(row, unread.get(row.id) ?? 0));
  return { object: 'list' as const, has_more: hasMore, data };
}

/** Lists the open inboxes of a team. Throws if it has none: an empty list would suggest that access can be granted. */
export async function listInboxChannels({ store, teamId }: Ctx) {
  const reached = (await channelRows(store.db, teamId)).filter(({ channel }) => channel === 'open');
  if (reached.length === 0) {
    throw refuse('inbox_not_set_up', { say: 'This team has no open inbox channel; create one with POST /inboxes.' });
  }
  const data = reached.map((row) => ({
    object: 'inbox_channel' as const,
    id: row.id,
    address: row.address,
    name: row.name ?? row.address,
    restricted: false,
  }));
  return { object: 'list' as const, data };
}
