import { generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';

const generate = promisify(generateKeyPair);

/** A new private key, made off the event loop. */
export async function makeRsaKey(bits: number): Promise<KeyObject> {
  return (await generate('rsa', { modulusLength: bits })).privateKey;
}
