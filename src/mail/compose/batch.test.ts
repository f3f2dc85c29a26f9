import { expect, it } from 'vitest';
import type { EmailRow } from '../emails/index.ts';
import { openBatch, type Batch } from './batch.ts';
import type { Made } from './make-message.ts';
import { DomainRemoved, DomainUnverified, KeysChanged, type SigningDomain } from './signing-domains.ts';

const domainSignedBy = (signedBy: string): SigningDomain => ({
  name: 'one.example',
  returnPathDomain: 'send.one.example',
  keys: [],
  signedBy,
  tracking: undefined,
  isUnverified: false,
});

/** Opens a batch of one email with three deliveries, in a world whose stored keys can change at any moment. */
function batchOfThree() {
  const deliveries = ['1', '2', '3'].map((id) => ({ id, email_id: 'mail', domain_id: 'domain' }));
  const state = {
    stored: domainSignedBy('old') as SigningDomain | undefined,
    read: domainSignedBy('old') as SigningDomain | undefined,
    isFresh: true,
    made: [] as string[],
    held: 0,
    refreshed: 0,
  };
  const batch: Batch = openBatch({
    deliveries,
    rows: [{ id: 'mail', domain_id: 'domain' } as EmailRow],
    domains: {
      get: () => state.read,
      isFresh: () => state.isFresh,
      async refresh() {
        state.refreshed++;
        state.read = state.stored;
        state.isFresh = true;
      },
    },
    returnPathMac: () => Buffer.alloc(32),
    async make(_row, domain): Promise<Made> {
      state.made.push(domain.signedBy);
      state.held++;
      const message = { content: [Buffer.from(domain.signedBy)], size: 1, needsSmtpUtf8: false };
      return { message, release: () => state.held-- };
    },
  });
  const change = (stored: SigningDomain | undefined): void => void Object.assign(state, { stored, isFresh: false });
  const [first, second, third] = deliveries as [(typeof deliveries)[0], (typeof deliveries)[0], (typeof deliveries)[0]];
  return { batch, state, change, first, second, third };
}

const { signal } = new AbortController();
const readSignature = async (batch: Batch, delivery: Parameters<Batch['message']>[0]): Promise<string> =>
  String(((await batch.message(delivery, signal)).content as Buffer[])[0]);

it('a message is made once for all its destinations, and nothing is queried again while nothing has changed', async () => {
  const { batch, state, first, second, third } = batchOfThree();
  for (const delivery of [first, second, third, first]) expect(await readSignature(batch, delivery)).toBe('old');
  expect(batch.recheck(second)).toBeUndefined();
  for (const delivery of [first, second, third]) batch.release(delivery);
  await Promise.resolve();
  expect(state).toMatchObject({ made: ['old'], refreshed: 0, held: 0 });
});

it('the memory of a message is kept until each of its deliveries is released, and a repeated release does not count', async () => {
  const { batch, state, first, second, third } = batchOfThree();
  await batch.message(first, signal);
  for (const delivery of [first, first, second]) batch.release(delivery);
  await Promise.resolve();
  expect(state.held).toBe(1);
  batch.release(third);
  await Promise.resolve();
  expect(state.held).toBe(0);
});

it('a message is made again with changed keys, and the memory of both is released', async () => {
  const { batch, state, change, first, second, third } = batchOfThree();
  expect(await readSignature(batch, first)).toBe('old');
  change(domainSignedBy('new'));
  expect(await readSignature(batch, second)).toBe('new');
  // The first delivery's message has old keys: it is refused whether or not the reading is fresh.
  expect(() => batch.recheck(first)).toThrow(KeysChanged);
  state.isFresh = false;
  await expect(batch.recheck(first)).rejects.toThrow(KeysChanged);
  expect(await readSignature(batch, first)).toBe('new');
  for (const delivery of [first, second, third]) batch.release(delivery);
  await Promise.resolve();
  expect(state).toMatchObject({ made: ['old', 'new'], held: 0 });
});

it('a change of other data does not make a message again', async () => {
  const { batch, state, change, first, second } = batchOfThree();
  await batch.message(first, signal);
  change(domainSignedBy('old'));
  await batch.recheck(first);
  await batch.message(second, signal);
  expect(state).toMatchObject({ made: ['old'], refreshed: 1 });
});

it('keys that change while the message waits for memory are not used to sign', async () => {
  const { batch, state, change, first } = batchOfThree();
  const asked = readSignature(batch, first);
  change(domainSignedBy('new'));
  expect(await asked).toBe('new');
  batch.release(first);
  expect(state.made).toEqual(['old', 'new']);
});

it('a domain that was removed or is not verified signs nothing, whatever was made before', async () => {
  const { batch, state, change, first, second } = batchOfThree();
  await batch.message(first, signal);
  change({ ...domainSignedBy('old'), isUnverified: true });
  await expect(batch.message(second, signal)).rejects.toThrow(DomainUnverified);
  state.isFresh = false;
  await expect(batch.recheck(first)).rejects.toThrow(DomainUnverified);
  change(undefined);
  await expect(batch.message(second, signal)).rejects.toThrow(DomainRemoved);
  state.isFresh = false;
  await expect(batch.recheck(first)).rejects.toThrow(DomainRemoved);
});
