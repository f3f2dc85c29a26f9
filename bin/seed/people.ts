import { createHash } from 'node:crypto';
import type { Ids } from '../../src/platform/ids.ts';

export const DOMAIN = 'shop.example.com';
export const SECOND_DOMAIN = 'news.example.com';

const FIRST = [
  'Amina',
  'Bruno',
  'Chiara',
  'Dmitri',
  'Elif',
  'Farah',
  'Goran',
  'Hana',
  'Ines',
  'Jonas',
  'Kenji',
  'Lena',
];
const LAST = ['Abe', 'Berg', 'Costa', 'Diaz', 'Evans', 'Fischer', 'Garcia', 'Haddad', 'Ivanov', 'Jensen'];
/** Reserved names (RFC 2606), so that seeded mail cannot be mistaken for real mail. */
const HOSTS = ['example.org', 'example.net', 'mail.example.org', 'post.example.net', 'inbox.example.org'];

interface Person {
  first: string;
  last: string;
  email: string;
}

export const PEOPLE: readonly Person[] = FIRST.flatMap((first, i) =>
  LAST.map((last, j) => {
    const host = HOSTS[(i + j * 3) % HOSTS.length] ?? '';
    return { first, last, email: `${first}.${last}@${host}`.toLowerCase() };
  }),
);

export interface Mailing {
  subject: string;
  text: string;
  from: string;
  kind: string;
}

const MAILINGS: ((dice: Dice) => Mailing)[] = [
  (dice) => {
    const order = 10_000 + Math.floor(dice.roll() * 90_000);
    return {
      subject: `Your order ${order}`,
      text: `We have your order ${order}.`,
      from: 'Shop <orders@',
      kind: 'order',
    };
  },
  (dice) => {
    const order = 10_000 + Math.floor(dice.roll() * 90_000);
    return {
      subject: `Order ${order} has shipped`,
      text: 'It is on its way.',
      from: 'Shop <orders@',
      kind: 'shipping',
    };
  },
  () => ({ subject: 'Your receipt', text: 'Thank you for your purchase.', from: 'Shop <billing@', kind: 'receipt' }),
  () => ({
    subject: 'Set a new password',
    text: 'The link is good for an hour.',
    from: 'Shop <account@',
    kind: 'reset',
  }),
  () => ({ subject: 'Welcome', text: 'Good to have you here.', from: 'Shop <hello@', kind: 'welcome' }),
];

export function pickMailing(dice: Dice): Mailing {
  const mailing = dice.pick(MAILINGS)(dice);
  return { ...mailing, from: `${mailing.from}${DOMAIN}>` };
}

export interface Dice {
  /** Returns a number of at least 0 and less than 1. */
  roll(): number;
  pick<T>(list: readonly T[]): T;
  hex(digits: number): string;
}

/** Returns the same numbers for the same seed, for ever: a stream of hashes. */
export function createDice(seed: string): Dice {
  let left = '';
  let turn = 0;
  function hex(digits: number): string {
    while (left.length < digits) left += createHash('sha256').update(`${seed} ${turn++}`).digest('hex');
    const taken = left.slice(0, digits);
    left = left.slice(digits);
    return taken;
  }
  const roll = (): number => Number.parseInt(hex(8), 16) / 2 ** 32;
  return {
    hex,
    roll,
    pick<T>(list: readonly T[]): T {
      const picked = list[Math.floor(roll() * list.length)];
      if (picked === undefined) throw new Error('cannot pick from an empty list');
      return picked;
    },
  };
}

/** Returns the same ids whenever the same data is seeded, so that existing data is recognized. */
export function createSeededIds(dice: Dice, now: () => number): Ids {
  const time = (): string => now().toString(16).padStart(12, '0');
  const uuid = (): string => {
    const at = time();
    return `${at.slice(0, 8)}-${at.slice(8)}-7${dice.hex(3)}-${dice.pick(['8', '9', 'a', 'b'])}${dice.hex(3)}-${dice.hex(12)}`;
  };
  return { uuid, prefixed: (prefix) => `${prefix}${uuid().replaceAll('-', '')}`, hex: (bytes) => dice.hex(bytes * 2) };
}
