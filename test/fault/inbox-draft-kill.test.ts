// clients that send drafts --> rasket serve (killed again and again) --> sink
import { expect, it, onTestFinished } from 'vitest';
import { createApi, type ApiAnswer } from '../rig/api.ts';
import { scaled } from '../rig/scale.ts';
import { dice, testSeed } from '../rig/seed.ts';
import { startSink } from '../rig/sink.ts';
import { installProgram, type Program } from './program.ts';

const DRAFTS = scaled(20);
const KILLS = Math.min(10, scaled(2));
const CLIENTS = 8;
const FILE = { filename: 'a.bin', content: Buffer.alloc(300_000, 'x').toString('base64') };

/** Asks until it is answered, whatever dies under the question. */
async function ask(program: Program, method: string, path: string, body?: unknown): Promise<ApiAnswer> {
  for (;;) {
    const api = createApi(await program.listening());
    const answer = await api(method, path, { key: program.apiKey, ...(body === undefined ? {} : { body }) }).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code === undefined) throw error;
        return undefined;
      },
    );
    if (answer) return answer;
  }
}

async function makeInbox(program: Program): Promise<string> {
  const { body: domains } = await ask(program, 'GET', '/domains');
  const [domain] = domains.data as { id: string; name: string }[];
  const capabilities = { capabilities: { receiving: 'enabled' }, confirm_replace_mx: true };
  await ask(program, 'PATCH', `/domains/${domain?.id}`, capabilities);
  const made = await ask(program, 'POST', '/inboxes', { email_address: `support@${domain?.name}` });
  expect(made.status, made.text).toBe(201);
  return `/inboxes/${made.body.id as string}`;
}

async function makeDrafts(program: Program, inbox: string): Promise<{ id: string; to: string }[]> {
  const drafts: { id: string; to: string }[] = [];
  for (let n = 0; n < DRAFTS; n++) {
    const to = `customer${n}@d${n % 5}.example`;
    const attachments = n % 3 === 0 ? [{ ...FILE, content_type: 'application/octet-stream' }] : [];
    const made = await ask(program, 'POST', `${inbox}/drafts`, { to, subject: `Number ${n}`, text: 'x', attachments });
    drafts.push({ id: made.body.id as string, to });
  }
  return drafts;
}

async function fetchThreads(program: Program, inbox: string): Promise<{ email_count: number }[]> {
  const threads: { email_count: number }[] = [];
  for (let after = ''; ;) {
    const { body: page } = await ask(program, 'GET', `${inbox}/threads?folders=sent&limit=100${after}`);
    threads.push(...page.data);
    if (!page.has_more) return threads;
    after = `&after=${page.data.at(-1).id as string}`;
  }
}

it(
  `${DRAFTS} drafts sent by two clients each survive kill -9 ${KILLS} times: each is one email in one thread`,
  { timeout: 300_000 },
  async () => {
    const random = dice(testSeed());
    const arrivals = new Map<string, Set<string>>();
    const inDoubt = new Set<string>();
    const sink = await startSink({
      keep: false,
      onMessage({ data, rcptTo }) {
        const head = data.toString('latin1');
        const id = /^message-id: *<([^@]+)@/im.exec(head)?.[1] ?? 'no Message-ID';
        const of = arrivals.get(rcptTo[0] ?? '') ?? new Set();
        // The same mail a second time would be another member of the set.
        arrivals.set(rcptTo[0] ?? '', of.add(of.has(id) ? `${id} again` : id));
      },
    });
    onTestFinished(() => sink.close());
    const program = await installProgram(sink, (line) => {
      if (line.msg === 'delivery outcome unknown') for (const address of line.to as string[]) inDoubt.add(address);
    });
    const inbox = await makeInbox(program);
    const drafts = await makeDrafts(program, inbox);
    const sent = new Map<string, Set<string>>();
    let answered = 0;
    let kills = 0;
    let killing = Promise.resolve();
    const strikeAt = (): number => answered + 1 + Math.floor(random() * ((2 * DRAFTS) / KILLS / 2));
    let next = strikeAt();
    const strike = (): void => {
      if (kills >= KILLS || answered < next) return;
      kills++;
      next = Number.POSITIVE_INFINITY;
      killing = program
        .kill()
        .then(() => program.start())
        .then(() => void (next = strikeAt()));
    };
    // Neighbors: two clients have the same draft at the same time.
    const turns = drafts.flatMap((draft) => [draft, draft]);
    const work = async (): Promise<void> => {
      for (let draft = turns.shift(); draft; draft = turns.shift()) {
        const answer = await ask(program, 'POST', `${inbox}/drafts/${draft.id}/send`);
        expect(answer.status, answer.text).toBe(200);
        sent.set(draft.id, (sent.get(draft.id) ?? new Set()).add(answer.body.id as string));
        answered++;
        strike();
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, work));
    await killing;

    expect([...sent.values()].filter((ids) => ids.size !== 1)).toEqual([]);
    const isOver = ({ to }: { to: string }): boolean => arrivals.has(to) || inDoubt.has(to);
    await expect.poll(() => drafts.filter((draft) => !isOver(draft)), { timeout: 120_000 }).toEqual([]);
    for (const { id, to } of drafts) {
      const [emailId = ''] = sent.get(id) ?? [];
      expect([...(arrivals.get(to) ?? [emailId])], `the mails to ${to}`).toEqual([emailId]);
      expect((await ask(program, 'GET', `${inbox}/drafts/${id}`)).body.email_id).toBe(emailId);
    }
    const threads = await fetchThreads(program, inbox);
    expect([threads.length, threads.every(({ email_count: count }) => count === 1)]).toEqual([DRAFTS, true]);
    const { body: emails } = await ask(program, 'GET', `/emails?limit=100`);
    expect(emails.data).toHaveLength(Math.min(100, DRAFTS));
    expect(kills).toBe(KILLS);
  },
);
