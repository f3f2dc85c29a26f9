import type { Store } from '../../platform/store/index.ts';

const HASH_HEX = 16;

/** What an operator sees of a subject. The hash is keyed, because subjects are short enough to be guessed. */
export function shownSubject({ config, secrets }: Pick<Store, 'config' | 'secrets'>, subject: string) {
  const { subjects } = config.operators;
  const hash = (): string => secrets.mac('queue subject', Buffer.from(subject)).toString('hex').slice(0, HASH_HEX);
  return { subject: subjects === 'text' ? subject : null, subject_hash: subjects === 'hash' ? hash() : null };
}
