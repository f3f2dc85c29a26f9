import { hash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startApp } from '../../src/app.ts';
import { driver } from '../rig/database.ts';
import { nodeFolder } from '../rig/node-folder.ts';
import { visit, type Visited } from '../rig/preference-pages.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { campaignIn, type Campaign } from './campaign.ts';
import { HOUR, MINUTE } from './mail.ts';

const SITE = 'https://www.example.com';

let scene: Scene;
let campaign: Campaign;
let form: string;
let people = 0;
beforeAll(async () => {
  const config = { http: { trusted_proxies: ['127.0.0.1/32'] }, forms: { sign_ups_per_form_per_hour: 10 } };
  scene = await startScene({ config });
});
afterAll(() => scene.close());
beforeEach(async () => {
  // The limits of a client are those of an hour.
  scene.clock.advance(HOUR);
  campaign = await campaignIn(scene);
  form = await createForm();
  scene.sink.messages.length = 0;
});

const createForm = async (more: object = {}): Promise<string> =>
  campaign.make('/forms', {
    name: 'Newsletter',
    topic_id: await campaign.make('/topics', { name: `Weekly ${++people}`, default_subscription: 'opt_out' }),
    from: `News <news@${campaign.domain.name}>`,
    allowed_origins: [SITE],
    proof_of_work: true,
    ...more,
  });

const newAddress = (): string => `person${++people}@one.example`;

/** Sends an address as a program does, which gets answers in JSON. */
const send = (
  email: string,
  proof: string | undefined,
  { to = form, at = scene, ...headers }: { to?: string; at?: Pick<Scene, 'url'> } & Record<string, unknown> = {},
): Promise<Visited> =>
  visit(at as Scene, `/subscribe/${to}`, {
    body: new URLSearchParams({ email, ...(proof !== undefined && { proof_of_work: proof }) }).toString(),
    headers: { accept: 'application/json', ...(headers as Record<string, string>) },
  });

interface Challenge {
  challenge: string;
  difficulty: number;
  expires_at: string;
}

const getChallenge = async (to = form): Promise<Challenge> =>
  JSON.parse((await visit(scene, `/subscribe/${to}/challenge`)).html) as Challenge;

const isSolved = (text: string, difficulty: number): boolean =>
  hash('sha256', text, 'buffer').readUInt32BE(0) >>> (32 - difficulty) === 0;

/** Returns the first number from `from` on that solves a challenge, or the first that does not, with the challenge. */
function findProof({ challenge, difficulty }: Challenge, { from = 0, solves = true } = {}): string {
  for (let number = from; ; number++) {
    const text = `${challenge}.${number}`;
    if (isSolved(text, difficulty) === solves) return text;
  }
}

const countProofs = async (): Promise<number> =>
  Number((await scene.app.world.db.get<{ n: number }>('select count(*) as n from form_proofs', []))?.n);

const countMails = async (email: string): Promise<number> => {
  await scene.settled();
  return scene.sink.messages.filter(({ rcptTo }) => rcptTo[0] === email).length;
};

const refusal = (reason: string, what: string, to = form) => ({
  status: 'invalid_proof_of_work',
  field: 'proof_of_work',
  reason,
  message: `proof_of_work ${what}; get a new challenge from GET /subscribe/${to}/challenge, solve it, and send the address with the result.`,
});

const expectRefusal = (answer: Visited, expected: object): void => {
  expect(answer.status, answer.html).toBe(400);
  expect(JSON.parse(answer.html)).toEqual(expected);
};

const WRONG = 'does not solve a challenge of this form';

describe('a form with a proof of work', () => {
  it('a form with a proof of work mails an address that comes with the solution of its challenge, and no other', async () => {
    const email = newAddress();
    expectRefusal(await send(email, undefined), refusal('missing', 'is missing'));
    const challenge = await getChallenge();
    expectRefusal(await send(email, findProof(challenge, { solves: false })), refusal('wrong', WRONG));
    expectRefusal(await send(email, challenge.challenge), refusal('wrong', WRONG));
    expectRefusal(await send(email, 'x'), refusal('wrong', WRONG));
    expect(await countMails(email)).toBe(0);
    const accepted = await send(email, findProof(challenge));
    expect([accepted.status, accepted.html]).toEqual([202, '{"status":"pending"}']);
    expect(await countMails(email)).toBe(1);
  });

  it('a form with a proof of work counts a challenge once, also with another solution and with requests at the same time', async () => {
    const challenge = await getChallenge();
    const proof = findProof(challenge);
    const answers = await Promise.all([1, 2, 3, 4].map(() => send(newAddress(), proof)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([202, 400, 400, 400]);
    const used = refusal('used', 'solves a challenge that was used before');
    expectRefusal(await send(newAddress(), proof), used);
    const number = Number(proof.slice(proof.indexOf('.') + 1));
    expectRefusal(await send(newAddress(), findProof(challenge, { from: number + 1 })), used);
    const { challenge: text } = challenge;
    const last = text.at(-1) ?? '';
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const spelled = text.slice(0, -1) + letters[letters.indexOf(last) ^ 1];
    const again = findProof({ ...challenge, challenge: spelled });
    expectRefusal(await send(newAddress(), again), refusal('wrong', WRONG));
  });

  it('a form with a proof of work refuses a solution of the challenge of another form', async () => {
    const other = await createForm();
    const proof = findProof(await getChallenge(other));
    expectRefusal(await send(newAddress(), proof), refusal('wrong', WRONG));
    expect((await send(newAddress(), proof, { to: other })).status).toBe(202);
  });

  it('a form with a proof of work refuses challenges that it did not sign', async () => {
    const issued = await getChallenge();
    const change = (edit: (bytes: Buffer) => void): Challenge => {
      const bytes = Buffer.from(issued.challenge, 'base64url');
      edit(bytes);
      return { ...issued, challenge: bytes.toString('base64url') };
    };
    const forged = [
      change((bytes) => bytes.writeUIntBE(scene.clock.now() + 24 * HOUR, 0, 6)),
      { ...change((bytes) => bytes.writeUInt8(1, 6)), difficulty: 1 },
      change((bytes) => bytes.writeUInt8((bytes[10] ?? 0) ^ 1, 10)),
      change((bytes) => bytes.writeUInt8((bytes[31] ?? 0) ^ 1, 31)),
    ];
    for (const one of forged) expectRefusal(await send(newAddress(), findProof(one)), refusal('wrong', WRONG));
  });

  it('a form with a proof of work refuses a challenge after ten minutes', async () => {
    const challenge = await getChallenge();
    expect(challenge.expires_at).toBe(new Date(scene.clock.now() + 10 * MINUTE).toISOString());
    const proof = findProof(challenge);
    scene.clock.advance(10 * MINUTE);
    expectRefusal(await send(newAddress(), proof), refusal('expired', 'solves a challenge that has expired'));
  });

  it('a form with a proof of work stores nothing before a challenge is solved, and removes it an hour after it has expired', async () => {
    const sweep = async (): Promise<void> =>
      void (await scene.app.jobs
        .find(({ name }) => name === 'forget-sign-up-addresses')
        ?.run(new AbortController().signal));
    scene.clock.advance(HOUR + 10 * MINUTE);
    await sweep();
    expect(await countProofs()).toBe(0);
    const challenge = await getChallenge();
    await send(newAddress(), findProof(challenge, { solves: false }));
    expect(await countProofs()).toBe(0);
    await send(newAddress(), findProof(challenge));
    expect(await countProofs()).toBe(1);
    scene.clock.advance(HOUR + 9 * MINUTE);
    await sweep();
    expect(await countProofs()).toBe(1);
    scene.clock.advance(MINUTE);
    await sweep();
    expect(await countProofs()).toBe(0);
  });

  it('a form with a proof of work does not count addresses without a proof against its limit', async () => {
    const fromElsewhere = (n: number) => ({ 'x-forwarded-for': `198.51.100.${n}` });
    for (let n = 0; n < 12; n++) expect((await send(newAddress(), 'x', fromElsewhere(n))).status).toBe(400);
    expect((await send(newAddress(), findProof(await getChallenge()), fromElsewhere(20))).status).toBe(202);
  });

  it('a form with a proof of work uses up the proof of an address that came with the field that people do not see', async () => {
    const proof = findProof(await getChallenge());
    const email = newAddress();
    const body = new URLSearchParams({ email, proof_of_work: proof, topic_line: 'Buy now' }).toString();
    expect((await visit(scene, `/subscribe/${form}`, { body })).status).toBe(200);
    expectRefusal(await send(email, proof), refusal('used', 'solves a challenge that was used before'));
    expect(await countMails(email)).toBe(0);
  });

  it('a form with a proof of work shows the form again with the address and the reason if a page sent no proof', async () => {
    const page = await visit(scene, `/subscribe/${form}`, { body: 'email=me%40one.example&language=de' });
    expect(page.status).toBe(400);
    expect(page.text).toContain('Die Prüfung gegen automatische Anmeldungen fehlt');
    expect(page.html).toContain('value="me@one.example"');
    expect(page.html).toContain('<noscript><p>Dieses Formular braucht Skripte.');
    expect(page.headers['content-security-policy']).toMatch(/script-src 'sha256-[^' ]+'; connect-src 'self';/);
  });
});

describe('the challenge of a form', () => {
  it('the challenge of a form is readable for pages of the origins that the form allows, and for no others', async () => {
    const address = `/subscribe/${form}/challenge`;
    const allowed = await visit(scene, address, { headers: { origin: SITE } });
    expect([allowed.status, allowed.headers['access-control-allow-origin']]).toEqual([200, SITE]);
    expect(allowed.headers['cache-control']).toBe('no-store');
    const refused = await visit(scene, address, { headers: { origin: 'https://evil.example' } });
    expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([403, undefined]);
  });

  it('the challenge of a form is null for a form that needs no proof, which ignores the field', async () => {
    const to = await createForm({ proof_of_work: false });
    const answer = await visit(scene, `/subscribe/${to}/challenge`);
    expect([answer.status, answer.html]).toEqual([200, '{"challenge":null}']);
    expect((await send(newAddress(), 'x', { to })).status).toBe(202);
    const page = await visit(scene, `/subscribe/${to}`);
    expect(page.html).not.toContain('<script');
    expect(page.headers['content-security-policy']).not.toContain('script-src');
  });

  it('the challenge of a form does not exist for a closed form, under other paths and for a POST', async () => {
    expect((await visit(scene, `/subscribe/${form}/challenges`)).status).toBe(404);
    expect((await visit(scene, `/subscribe/${form}/challenge/more`)).status).toBe(404);
    expect((await visit(scene, `/subscribe/${form}/challenge`, { body: 'email=a%40one.example' })).status).toBe(405);
    await campaign.call('PATCH', `/forms/${form}`, { enabled: false });
    expect((await visit(scene, `/subscribe/${form}/challenge`)).status).toBe(404);
  });

  // runs only on PostgreSQL: SQLite has one process.
  it.runIf(driver === 'pg')('the challenge of a form is solved for one node and used up on all', async () => {
    const dataDir = nodeFolder(scene);
    const { config, log } = scene.app.world;
    const node = await startApp({ config, dataDir, clock: scene.clock, version: '0.0.0-test', log, roles: ['http'] });
    try {
      const proof = findProof(await getChallenge());
      expect((await send(newAddress(), proof, { at: { url: node.http?.url ?? '' } })).status).toBe(202);
      expectRefusal(await send(newAddress(), proof), refusal('used', 'solves a challenge that was used before'));
    } finally {
      await node.close(0);
      rmSync(dataDir, { recursive: true, force: true });
    }
  });
});
