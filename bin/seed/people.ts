import type { Dice } from './dice.ts';

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
/** Names that are nobody's (RFC 2606), so that what is looked at cannot be mistaken for real mail. */
const HOSTS = ['example.org', 'example.net', 'mail.example.org', 'post.example.net', 'inbox.example.org'];

export interface Person {
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
      subject: `Order ${order} has left us`,
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
