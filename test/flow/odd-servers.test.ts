// The delivery against a mail server that answers whatever it likes, split anyhow: by its own account, nothing is sent to it twice.
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { createDeliver, type Delivery, type RecipientOutcome } from '../../src/mail/deliver/index.ts';
import { createResolver } from '../../src/platform/resolver/index.ts';
import { startDns, type DnsRig } from '../rig/dns.ts';
import { scaled } from '../rig/scale.ts';
import { dice, testSeed } from '../rig/seed.ts';

const MAILS = scaled(150);
const AT_ONCE = 6;
const TRIES_MAX = 4;

type Step = 'greeting' | 'EHLO' | 'MAIL' | 'RCPT' | 'DATA' | 'RSET' | 'dot';
const RIGHT: Record<Exclude<Step, 'EHLO'>, string> = {
  greeting: '220 mx.y.example',
  MAIL: '250 2.1.0 fine',
  RCPT: '250 2.1.5 fine',
  DATA: '354 go on',
  RSET: '250 2.0.0 fine',
  dot: '250 2.0.0 taken',
};
const CODED = [
  '421 4.3.2 closing',
  '451 4.3.0 later',
  '550 5.1.1 nobody',
  '250 2.0.0 fine',
  '354 go on',
  '220 hello',
  '199 well',
];
const NONSENSE = ['hello there', '25', '999 what', '250-and', '250\t', '\u0000\u0007', '2500 many'];

/** The outcome of a message according to the server: its reply to each dot that it saw. */
type Said = 'taken' | 'refused' | 'unclear';

class OddServer {
  readonly said = new Map<string, Said[]>();
  readonly #next: () => number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(seed: number) {
    this.#next = dice(seed);
    this.#server = createServer({ noDelay: true }, (socket) => this.#talk(socket));
  }

  async listen(): Promise<number> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((done) => this.#server.close(done));
  }

  #roll(sides: number): number {
    return Math.floor(this.#next() * sides);
  }

  #pick = <T>(from: readonly T[]): T => from[this.#roll(from.length)] as T;

  #talk(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket)).on('error', () => socket.destroy());
    const ehlo = this.#roll(2) === 0 ? '250-mx.y.example\r\n250 PIPELINING' : '250-mx.y.example\r\n250 8BITMIME';
    let buffer = '';
    let isContent = false;
    let isRefusedEarly = false;
    this.#answer(socket, 'greeting', RIGHT.greeting);
    socket.on('data', (chunk: Buffer) => {
      buffer += chunk.toString('latin1');
      for (;;) {
        const end = buffer.indexOf(isContent ? '\r\n.\r\n' : '\r\n');
        if (end === -1) return;
        const part = buffer.slice(0, end);
        buffer = buffer.slice(end + (isContent ? 5 : 2));
        if (isContent) {
          isContent = false;
          this.#onDot(socket, part, isRefusedEarly);
          continue;
        }
        const verb = part.slice(0, 4).toUpperCase();
        if (verb === 'QUIT') return void socket.end('221 2.0.0 bye\r\n');
        const step = (['EHLO', 'MAIL', 'RCPT', 'DATA', 'RSET'] as const).find((one) => one === verb);
        if (step === undefined) {
          socket.write('500 5.5.1 what\r\n');
          continue;
        }
        const said = this.#answer(socket, step, step === 'EHLO' ? ehlo : RIGHT[step]);
        // It takes what it has asked for, whatever else it said.
        isContent = step === 'DATA' && said.includes('354');
        isRefusedEarly = isContent && /\r\n[45]\d\d /.test(`\r\n${said}`);
      }
    });
  }

  #onDot(socket: Socket, content: string, isRefusedEarly: boolean): void {
    const name = /^X-Number: (\S+)/m.exec(content)?.[1] ?? 'none';
    const words = this.#answer(socket, 'dot', RIGHT.dot);
    const isRefused = isRefusedEarly || /^[45]\d\d [^\r]*\r\n/.test(words);
    const said: Said = isRefused ? 'refused' : words === `${RIGHT.dot}\r\n` ? 'taken' : 'unclear';
    this.said.set(name, [...(this.said.get(name) ?? []), said]);
  }

  /** Says what is right, mostly, and answers what it said in the end. */
  #answer(socket: Socket, step: Step, right: string): string {
    const odd = this.#roll(step === 'greeting' || step === 'EHLO' ? 40 : 7);
    const words = this.#chooseWords(odd === 0 ? this.#roll(8) : -1, `${right}\r\n`);
    this.#write(socket, words.text);
    if (words.isLast) this.#end(socket);
    return words.text;
  }

  #chooseWords(oddity: number, right: string): { text: string; isLast?: boolean } {
    switch (oddity) {
      case 0:
        return { text: `${this.#pick(CODED)}\r\n` };
      case 1:
        return { text: `${this.#pick(NONSENSE)}\r\n` };
      case 2:
        return { text: right + `${this.#pick(CODED)}\r\n` };
      case 3:
        return { text: right.slice(0, this.#roll(right.length)), isLast: true };
      case 4:
        return { text: right, isLast: true };
      case 5:
        return { text: '', isLast: true };
      case 6:
        return { text: `421 4.3.2 closing\r\n`, isLast: true };
      default:
        return { text: right.replace(/^(\d\d\d) /, '$1-well\r\n$1 ') };
    }
  }

  #write(socket: Socket, text: string): void {
    if (text === '') return;
    const at = this.#roll(4) === 0 ? this.#roll(text.length) : 0;
    if (at > 0) socket.write(text.slice(0, at), 'latin1');
    if (at === 0) socket.write(text, 'latin1');
    else setImmediate(() => socket.writable && socket.write(text.slice(at), 'latin1'));
  }

  #end(socket: Socket): void {
    const isRude = this.#roll(2) === 0;
    setImmediate(() => setImmediate(() => (isRude ? socket.destroy() : socket.end())));
  }
}

let [server, dns, delivery]: [OddServer?, DnsRig?, Delivery?] = [];
afterEach(async () => {
  await delivery?.close(0);
  await server?.close();
  await dns?.close();
});

async function open(seed: number): Promise<Delivery> {
  server = new OddServer(seed);
  const smtpPort = await server.listen();
  dns = await startDns({ 'y.example': { MX: ['10 mx.y.example'] }, 'mx.y.example': { A: ['127.0.0.1'] } });
  const resolver = createResolver({ servers: [dns.server], timeoutMs: 2_000, tries: 1 });
  const timeouts = {
    greetingMs: 300,
    ehloMs: 300,
    mailMs: 300,
    rcptMs: 300,
    dataMs: 300,
    dataDoneMs: 300,
    rsetMs: 300,
  };
  // Each look of the clock is a minute later, so that no failure is remembered.
  let now = 0;
  return createDeliver({
    heloName: 'out.rasket.test',
    resolver,
    smtpPort,
    allowPrivate: ['127.0.0.0/8'],
    random: dice(seed + 1),
    timeouts: { ...timeouts, quitMs: 100 },
    now: () => (now += 60_000),
    limits: { connectionsPerSiteMax: 3 },
  });
}

interface Mail {
  name: string;
  dots: number;
  kinds: RecipientOutcome['kind'][];
}

/** Sends as the queue does: what is deferred is tried again, and nothing else. */
async function send(deliver: Delivery['deliver'], name: string): Promise<Mail> {
  const mail: Mail = { name, dots: 0, kinds: [] };
  const content = [Buffer.from(`X-Number: ${name}\r\nSubject: hello\r\n\r\nHello.\r\n`)];
  for (let attempt = 1; attempt <= TRIES_MAX; attempt++) {
    const [outcome] = await deliver(
      {
        id: name,
        emailId: name,
        teamId: 'team',
        domain: 'y.example',
        recipients: ['a@y.example'],
        attempt,
        mailFrom: 'from@x.example',
        region: 'eu',
        tls: 'opportunistic',
      },
      {
        message: () => Promise.resolve({ content, size: content[0]?.length ?? 0, needsSmtpUtf8: false }),
        handOff: { intend: () => new Promise((turn) => setImmediate(turn)), mark: () => void mail.dots++ },
        signal: new AbortController().signal,
      },
    );
    mail.kinds.push(outcome?.kind ?? 'suppressed');
    if (outcome?.kind !== 'deferred') break;
  }
  return mail;
}

it('no message gets a second dot unless the server has refused the first, whatever a server replies', async () => {
  const seed = testSeed();
  delivery = await open(seed);
  const { deliver } = delivery;
  const mails: Mail[] = [];
  let n = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (n < MAILS) mails.push(await send(deliver, `m${n++}`));
    }),
  );
  const said = server?.said ?? new Map<string, Said[]>();
  for (const { name, kinds, dots } of mails) {
    const answers = said.get(name) ?? [];
    const story = `seed ${seed}, ${name}: ${kinds.join(', ')}; the server: ${answers.join(', ')}`;
    expect(answers.filter((answer) => answer !== 'refused').length, story).toBeLessThanOrEqual(1);
    // No more is seen than was marked before.
    expect(answers.length, story).toBeLessThanOrEqual(dots);
    if (answers.at(-1) === 'taken') expect(['delivered', 'ambiguous'], story).toContain(kinds.at(-1));
    if (kinds.at(-1) === 'delivered') expect(dots, story).toBeGreaterThan(0);
  }
  // The server received content as a message, and never as commands.
  expect(said.get('none'), `seed ${seed}`).toBe(undefined);
  expect(mails.flatMap(({ kinds }) => kinds)).toContain('delivered');
});
