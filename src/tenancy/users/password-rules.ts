import { readProgramText } from '../../program-files/index.ts';
import { invalidField } from '../../platform/refusal.ts';

let common: ReadonlySet<string> | undefined;

/** Reads the list on the first new password, because most processes never see one. */
function loadCommonPasswords(): ReadonlySet<string> {
  common ??= new Set(
    readProgramText('config/common-passwords.txt')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#')),
  );
  return common;
}

const PRODUCT = 'rasket';
/** A shorter local part, such as `al`, occurs in passwords that say nothing about their owner. */
const LOCAL_PART_CHARS_MIN = 4;

/**
 * Refuses a new password that guessing programs try first: one of the most common passwords, or one that contains the
 * address of its owner or the name of this product. Upper and lower case make no difference.
 */
export function mustResistGuessing(password: string, email: string): void {
  const fault = findWeakness(password.normalize('NFC').toLowerCase(), email.normalize('NFC').toLowerCase());
  if (fault !== undefined) throw invalidField('password', `password ${fault}; choose another one.`);
}

function findWeakness(password: string, email: string): string | undefined {
  if (loadCommonPasswords().has(password)) return 'is one of the 3,000 most common passwords';
  if (password.includes(PRODUCT)) return `must not contain the name ${PRODUCT}`;
  if (password.includes(email)) return 'must not contain your email address';
  const local = email.slice(0, email.lastIndexOf('@'));
  if ([...local].length >= LOCAL_PART_CHARS_MIN && password.includes(local))
    return `must not contain ${JSON.stringify(local)}, the part of your email address before the @`;
  return undefined;
}
