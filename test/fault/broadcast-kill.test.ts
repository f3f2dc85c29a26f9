// a broadcast to many --> rasket serve (killed again and again) --> sink
import { expect, it, onTestFinished } from 'vitest';
import { POSTAL_ADDRESS } from '../flow/campaign.ts';
import { createApi, type Api } from '../rig/api.ts';
import { formOf } from '../rig/forms.ts';
import { scaled } from '../rig/scale.ts';
import { dice, testSeed } from '../rig/seed.ts';
import { startSink } from '../rig/sink.ts';
import { installProgram, type Program } from './program.ts';

const KILLS = Math.min(20, scaled(4));
// Where there are no more kills to have, RASKET_TEST_SCALE makes the broadcast larger.
const CONTACTS = KILLS < 20 ? 900 + 75 * KILLS : scaled(1200);
const addressOf = (i: number): string => `reader${i}@list.example.org`;

interface Read {
  id: string;
  status: string;
  recipients: number;
  has_more: boolean;
  data: { id: string; email: string; status: string }[];
}

async function call(program: Program, method: 'GET' | 'POST' | 'PATCH', path: string, body?: unknown): Promise<Read> {
  for (let tries = 1; ; tries++) {
    try {
      const api: Api = createApi(await program.listening());
      const answer = await api(method, path, { key: program.apiKey, ...(body === undefined ? {} : { body }) });
      expect(answer.status, answer.text).toBeLessThan(300);
      return answer.body as unknown as Read;
    } catch (error) {
      // It died under the question.
      if (method !== 'GET' || tries >= 20) throw error;
    }
  }
}

/** Imports the contacts and sends a broadcast to all of them; answers its id. */
async function begin(program: Program): Promise<string> {
  await call(program, 'PATCH', '/team', { sender_name: 'Example Ltd', postal_address: POSTAL_ADDRESS });
  const rows = Array.from({ length: CONTACTS }, (_, i) => `${addressOf(i)},Reader ${i}`);
  const form = formOf(`email,first_name\n${rows.join('\n')}\n`);
  const imported = await createApi(await program.listening())('POST', '/contacts/imports', {
    key: program.apiKey,
    ...form,
  });
  await expect
    .poll(async () => (await call(program, 'GET', `/contacts/imports/${imported.body.id as string}`)).status, {
      timeout: 120_000,
    })
    .toBe('completed');
  const filter = { field: 'email', op: 'contains', value: '@' };
  const { id: segment } = await call(program, 'POST', '/segments', { name: 'Everybody', filter });
  const { id } = await call(program, 'POST', '/broadcasts', {
    ...{
      from: program.from,
      subject: 'To {{{FIRST_NAME}}}',
      segment_id: segment,
      text: 'Hello {{{FIRST_NAME}}}',
      send: true,
    },
  });
  return id;
}

/** Whom the report has as sent to. */
async function reportedBy(program: Program, id: string): Promise<string[]> {
  const reported = new Set<string>();
  for (let after = ''; ;) {
    const page = await call(program, 'GET', `/broadcasts/${id}/recipients?type=sent&limit=100${after}`);
    for (const { email } of page.data) reported.add(email);
    if (!page.has_more) break;
    after = `&after=${page.data.at(-1)?.id}`;
  }
  return [...reported];
}

it(
  `kill -9 ${KILLS} times during a broadcast to ${CONTACTS} contacts: nobody gets it twice and nobody is forgotten`,
  async () => {
    const random = dice(testSeed());
    const arrivals = new Map<string, number>();
    const inDoubt = new Set<string>();
    let due: { at: number; resolve: () => void } | undefined;
    const sink = await startSink({
      keep: false,
      onMessage({ rcptTo }) {
        for (const address of rcptTo) arrivals.set(address, (arrivals.get(address) ?? 0) + 1);
        if (due && arrivals.size >= due.at) due.resolve();
      },
    });
    onTestFinished(() => sink.close());
    // A page is made while those before it go out, so that kills come between pages as well.
    const pages = { RASKET_BROADCASTS_QUEUED_MAX: '500' };
    const env = { RASKET_BROADCASTS_LEASE_SECONDS: '2', RASKET_BROADCASTS_POLL_MS: '100', ...pages };
    const program = await installProgram(
      sink,
      ({ msg, to }) => {
        if (msg === 'delivery outcome unknown') for (const address of to as string[]) inDoubt.add(address);
      },
      { env: { ...env, RASKET_PLANS_STANDARD_CONTACT_LIMIT: '10000000' } },
    );
    const id = await begin(program);
    for (let killed = 0; killed < KILLS; killed++) {
      // The next moment comes after some more arrivals, wherever the pages stand then.
      const at = arrivals.size + 1 + Math.floor((random() * (CONTACTS - arrivals.size)) / (KILLS + 1));
      await new Promise<void>((resolve) => {
        due = { at, resolve };
        if (arrivals.size >= at) resolve();
      });
      due = undefined;
      // Every fourth end is an orderly one.
      await (killed % 4 === 3 ? program.stop() : program.kill());
      await program.start();
    }
    await expect
      .poll(async () => (await call(program, 'GET', `/broadcasts/${id}`)).status, { timeout: 120_000 })
      .toBe('sent');
    const isOver = (address: string): boolean => arrivals.has(address) || inDoubt.has(address);
    const all = Array.from({ length: CONTACTS }, (_, i) => addressOf(i));
    await expect.poll(() => all.filter((address) => !isOver(address)).length, { timeout: 120_000 }).toBe(0);
    const twice = [...arrivals].filter(([, times]) => times > 1);
    const neverSent = all.filter((address) => !arrivals.has(address));
    console.log(
      JSON.stringify({
        kills: KILLS,
        arrived: arrivals.size,
        twice: twice.length,
        inDoubt: inDoubt.size,
        neverSent: neverSent.length,
      }),
    );
    expect(twice).toEqual([]);
    expect(await call(program, 'GET', `/broadcasts/${id}`)).toMatchObject({
      recipients: CONTACTS,
      excluded: 0,
      total: CONTACTS,
    });
    expect((await reportedBy(program, id)).sort()).toEqual(all.toSorted());
  },
  300_000 + CONTACTS * 20,
);
