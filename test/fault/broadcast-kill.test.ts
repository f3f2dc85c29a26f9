// a broadcast to many --> rasket serve (killed again and again) --> sink
import { expect, it, onTestFinished } from 'vitest';
import { POSTAL_ADDRESS } from '../flow/campaign.ts';
import { createApi, type Api } from '../rig/api.ts';
import { buildForm } from '../rig/forms.ts';
import { scaled } from '../rig/scale.ts';
import { dice, testSeed } from '../rig/seed.ts';
import { startSink } from '../rig/sink.ts';
import { installProgram, type Program } from './program.ts';

const KILLS = Math.min(20, scaled(2));
// When there are no more kills to add, RASKET_TEST_SCALE makes the broadcast larger.
const CONTACTS = KILLS < 20 ? 1000 + 25 * KILLS : scaled(150);
/** Two pages, of which the second is made once some of the first have gone. */
const FEW = 700;
const buildAddress = (i: number): string => `reader${i}@list.example.org`;

interface Read {
  id: string;
  status: string;
  recipients: number;
  held: { reason: string } | null;
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
async function begin(program: Program, addresses: readonly string[]): Promise<string> {
  await call(program, 'PATCH', '/team', { sender_name: 'Example Ltd', postal_address: POSTAL_ADDRESS });
  const rows = addresses.map((address, i) => `${address},Reader ${i}`);
  const form = buildForm(`email,first_name\n${rows.join('\n')}\n`);
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
    from: program.from,
    subject: 'To {{{FIRST_NAME}}}',
    segment_id: segment,
    text: 'Hello {{{FIRST_NAME}}}',
    send: true,
  });
  return id;
}

/** Returns the addresses that the report names. */
async function reportedBy(program: Program, id: string, type: 'sent' | 'bounced' = 'sent'): Promise<string[]> {
  const reported = new Set<string>();
  for (let after = ''; ;) {
    const page = await call(program, 'GET', `/broadcasts/${id}/recipients?type=${type}&limit=100${after}`);
    for (const { email } of page.data) reported.add(email);
    if (!page.has_more) break;
    after = `&after=${page.data.at(-1)?.id}`;
  }
  return [...reported];
}

interface Scenery {
  program: Program;
  /** The number of times that each address got it. */
  arrivals: Map<string, number>;
  inDoubt: Set<string>;
  /** Resolves once so many addresses got it. */
  arrived(count: number): Promise<void>;
  isOver(address: string): boolean;
}

/** The program and its sink, where addresses that begin with `gone` do not exist. */
async function setUp(settings: Record<string, string> = {}): Promise<Scenery> {
  const arrivals = new Map<string, number>();
  const inDoubt = new Set<string>();
  let due: { at: number; resolve: () => void } | undefined;
  const sink = await startSink({
    keep: false,
    script: (command) => (command.startsWith('RCPT TO:<gone') ? '550 5.1.1 No such user' : undefined),
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
    { env: { ...env, RASKET_PLANS_STANDARD_CONTACT_LIMIT: '10000000', ...settings } },
  );
  const arrived = async (at: number): Promise<void> => {
    await new Promise<void>((resolve) => {
      due = { at, resolve };
      if (arrivals.size >= at) resolve();
    });
    due = undefined;
  };
  return { program, arrivals, inDoubt, arrived, isOver: (address) => arrivals.has(address) || inDoubt.has(address) };
}

const all = Array.from({ length: CONTACTS }, (_, i) => buildAddress(i));
const few = all.slice(0, FEW);

async function allOver({ isOver }: Scenery, addresses: readonly string[]): Promise<void> {
  await expect.poll(() => addresses.filter((address) => !isOver(address)).length, { timeout: 120_000 }).toBe(0);
}

/** Prints the counts, and expects that nobody got it twice. */
function count({ arrivals, inDoubt }: Scenery, addresses: readonly string[], more: object = {}): void {
  const twice = [...arrivals].filter(([, times]) => times > 1);
  const neverSent = addresses.filter((address) => !arrivals.has(address)).length;
  const counts = { arrived: arrivals.size, twice: twice.length, inDoubt: inDoubt.size, neverSent };
  console.log(JSON.stringify({ ...more, ...counts }));
  expect(twice).toEqual([]);
}

const WITHIN_MS = 300_000 + CONTACTS * 20;

it(
  `a broadcast to ${CONTACTS} contacts survives kill -9 ${KILLS} times: nobody gets it twice or is left out`,
  async () => {
    const random = dice(testSeed());
    const scenery = await setUp();
    const { program, arrivals, arrived } = scenery;
    const id = await begin(program, all);
    for (let killed = 0; killed < KILLS; killed++) {
      // The next moment comes after some more arrivals, wherever the pages stand then.
      await arrived(arrivals.size + 1 + Math.floor((random() * (CONTACTS - arrivals.size)) / (KILLS + 1)));
      await program.kill();
      await program.start();
      if (killed % 4 !== 1) continue;
      // An orderly end now and then.
      await program.stop();
      await program.start();
    }
    await expect
      .poll(async () => (await call(program, 'GET', `/broadcasts/${id}`)).status, { timeout: 120_000 })
      .toBe('sent');
    await allOver(scenery, all);
    count(scenery, all, { kills: KILLS });
    expect(await call(program, 'GET', `/broadcasts/${id}`)).toMatchObject({
      recipients: CONTACTS,
      excluded: 0,
      total: CONTACTS,
    });
    expect((await reportedBy(program, id)).sort()).toEqual(all.toSorted());
  },
  WITHIN_MS,
);

it(
  'each contact gets a broadcast once through an automatic hold, a resume and new limits at each start, and the report agrees',
  async () => {
    const scenery = await setUp({ RASKET_BROADCASTS_HOLD_AFTER: '50' });
    const { program, arrivals, arrived } = scenery;
    // Every fifth bounces, which holds it.
    const addresses = few.map((address, i) => (i % 5 === 0 ? `gone-${address}` : address));
    const gone = addresses.filter((address) => address.startsWith('gone-'));
    const good = addresses.filter((address) => !address.startsWith('gone-'));
    const id = await begin(program, addresses);
    const heldNow = async () => (await call(program, 'GET', `/broadcasts/${id}`)).held?.reason;
    await expect.poll(heldNow, { timeout: 120_000 }).toBe('bounces');
    expect(arrivals.size).toBeLessThan(good.length);
    await program.kill();
    await program.start({ RASKET_BROADCASTS_HOLD_BOUNCE_PERCENT: '100', RASKET_BROADCASTS_QUEUED_MAX: '800' });
    expect(await heldNow()).toBe('bounces');
    await call(program, 'POST', `/broadcasts/${id}/resume`);
    const middle = arrivals.size + Math.ceil((good.length - arrivals.size) / 4);
    await arrived(middle);
    await program.stop();
    await program.start({ RASKET_BROADCASTS_QUEUED_MAX: '500', RASKET_DELIVERY_MAX_CONNECTIONS_PER_DESTINATION: '2' });
    await arrived(middle + Math.ceil((good.length - middle) / 4));
    await program.kill();
    await program.start({
      RASKET_BROADCASTS_QUEUED_MAX: '2000',
      RASKET_DELIVERY_MAX_CONNECTIONS_PER_DESTINATION: '20',
    });
    await allOver(scenery, good);
    const bounced = async (): Promise<number> => (await reportedBy(program, id, 'bounced')).length;
    await expect.poll(bounced, { timeout: 120_000, interval: 500 }).toBe(gone.length);
    count(scenery, good, { held: 1 });
    expect([...arrivals.keys()].filter((address) => address.startsWith('gone-'))).toEqual([]);
    expect((await reportedBy(program, id, 'bounced')).sort()).toEqual(gone.toSorted());
    expect((await reportedBy(program, id)).sort()).toEqual(addresses.toSorted());
    expect(await call(program, 'GET', `/broadcasts/${id}`)).toMatchObject({ status: 'sent', recipients: FEW });
  },
  WITHIN_MS,
);

it(
  'nobody gets a broadcast twice after a cancel and a kill, and the report names exactly those who got it',
  async () => {
    const scenery = await setUp();
    const { program, arrivals, arrived } = scenery;
    const id = await begin(program, all);
    // The third page is made when as many have gone as the first has.
    await arrived(Math.ceil(CONTACTS / 10));
    await call(program, 'POST', `/broadcasts/${id}/cancel`);
    await program.kill();
    await program.start();
    const { status, recipients } = await call(program, 'GET', `/broadcasts/${id}`);
    expect(status).toBe('canceled');
    // Emails that were created before are still sent.
    let reported: string[] = [];
    const readReport = async (): Promise<number> => (reported = await reportedBy(program, id)).length;
    await expect.poll(readReport, { timeout: 120_000 }).toBe(recipients);
    expect(recipients).toBeLessThan(CONTACTS);
    await allOver(scenery, reported);
    count(scenery, reported, { canceledAt: recipients });
    expect([...arrivals.keys()].filter((address) => !reported.includes(address))).toEqual([]);
  },
  WITHIN_MS,
);

/** Sends a broadcast to one other contact and waits until it has arrived, so that older mail has been claimed. */
async function sendMarker({ program, arrivals, arrived }: Scenery, address: string): Promise<void> {
  await call(program, 'POST', '/contacts', { email: address });
  const filter = { field: 'email', op: 'eq', value: address };
  const { id: segment } = await call(program, 'POST', '/segments', { name: address, filter });
  const marker = { from: program.from, subject: 'Marker', segment_id: segment, text: 'Hello', send: true };
  await call(program, 'POST', '/broadcasts', marker);
  while (!arrivals.has(address)) await arrived(arrivals.size + 1);
}

it(
  'a paused broadcast stays paused through two kills, and after a resume each contact gets it once',
  async () => {
    const scenery = await setUp();
    const { program, arrivals, arrived } = scenery;
    const countReaders = (): number => few.filter((address) => arrivals.has(address)).length;
    const id = await begin(program, few);
    await arrived(Math.ceil(FEW / 10));
    await call(program, 'POST', `/broadcasts/${id}/pause`);
    const { recipients } = await call(program, 'GET', `/broadcasts/${id}`);
    await program.kill();
    await program.start();
    await sendMarker(scenery, 'first@marker.example.org');
    const before = countReaders();
    expect(before).toBeLessThan(FEW);
    await program.kill();
    await program.start();
    await sendMarker(scenery, 'second@marker.example.org');
    expect(countReaders()).toBe(before);
    expect(await call(program, 'GET', `/broadcasts/${id}`)).toMatchObject({ recipients });
    await call(program, 'POST', `/broadcasts/${id}/resume`);
    await expect
      .poll(async () => (await call(program, 'GET', `/broadcasts/${id}`)).status, { timeout: 120_000 })
      .toBe('sent');
    await allOver(scenery, few);
    count(scenery, few, { pausedAt: before });
    expect((await reportedBy(program, id)).sort()).toEqual(few.toSorted());
  },
  WITHIN_MS,
);
