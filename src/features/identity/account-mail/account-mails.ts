import { createUnleasedLoop, type WorkLoop } from '../../../platform/work-loop/index.ts';
import type { World } from '../../../platform/world/index.ts';
import {
  noteAccountNoticeMailed,
  noteResetMailed,
  noteSignUpMailed,
  resetTokens,
  unmailedAccountNotices,
  unmailedPasswordResets,
  unmailedSignUps,
  verificationTokens,
  whatToTell,
  whoseReset,
  type AccountNoticeRow,
  type PasswordResetRow,
  type SignUpRow,
} from '../accounts/index.ts';
import { findUser } from '../../../tenancy/users/index.ts';
import type { Accept } from '../../../mail/accept/index.ts';
import { composeAccountMail, type AccountMail } from './account-mail-texts.ts';
import { sendAccountMail } from './send-account-mail.ts';

/** No commit wakes it: what it does for a known address would be felt in the time of the answer. */
const POLL_MS = 2000;
const AT_ONCE = 10;

type Item = { id: string } & (
  | { kind: 'sign_up'; row: SignUpRow }
  | { kind: 'reset'; row: PasswordResetRow }
  | { kind: 'notice'; row: AccountNoticeRow }
);

type Accepts = Pick<Accept, 'acceptEmail'>;

/**
 * Finds out what becomes of requests of people, and mails them: here alone it is asked whether an address has an account, where
 * no caller waits for an answer.
 */
export function createAccountMails(world: World, accept: Accepts): WorkLoop {
  const { db, clock, log } = world;
  return createUnleasedLoop<Item>({
    ...{ name: 'mails of accounts', db, clock, log, pollMs: POLL_MS, atOnceMax: AT_ONCE },
    wakeOn: [],
    due: (limit) => due(world, limit),
    carry: (item) => carry(world, accept, item),
    describe: ({ kind, id }) => ({ kind, id }),
  });
}

async function due({ db, clock }: World, limit: number): Promise<Item[]> {
  const now = clock.now();
  const [signUps, resets, notices] = [
    await unmailedSignUps(db, now, limit),
    await unmailedPasswordResets(db, now, limit),
    await unmailedAccountNotices(db, limit),
  ];
  const all: Item[] = [
    ...signUps.map((row) => ({ id: row.id, kind: 'sign_up' as const, row })),
    ...resets.map((row) => ({ id: row.id, kind: 'reset' as const, row })),
    ...notices.map((row) => ({ id: row.id, kind: 'notice' as const, row })),
  ];
  return all.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

function carry(world: World, accept: Accepts, item: Item): Promise<void> {
  switch (item.kind) {
    case 'sign_up':
      return mailSignUp(world, accept, item.row);
    case 'reset':
      return mailReset(world, accept, item.row);
    case 'notice':
      return mailNotice(world, accept, item.row);
  }
}

async function mailSignUp(world: World, accept: Accepts, row: SignUpRow): Promise<void> {
  const told = await whatToTell(world, row);
  if (told === undefined) return;
  const token = verificationTokens.of(world.secrets, row);
  const fault =
    token === undefined
      ? KEY_IS_GONE
      : await mail(world, accept, {
          id: row.id,
          to: told.to,
          said: { kind: told.kind, token, address: row.address, at: row.created_at },
        });
  await world.db.tx((tx) => noteSignUpMailed(tx, row.id, { at: world.clock.now(), fault }));
}

async function mailReset(world: World, accept: Accepts, row: PasswordResetRow): Promise<void> {
  const user = await whoseReset(world, row);
  if (!user) return;
  const token = resetTokens.of(world.secrets, row);
  // To the address as its owner wrote it, never as the request did.
  const fault =
    token === undefined
      ? KEY_IS_GONE
      : await mail(world, accept, {
          id: row.id,
          to: user.email,
          said: { kind: 'reset', token, address: row.address, at: row.created_at },
        });
  await noteResetMailed(world, row, { user, fault });
}

async function mailNotice(world: World, accept: Accepts, row: AccountNoticeRow): Promise<void> {
  const user = await findUser(world.db, row.user_id);
  const fault = user
    ? await mail(world, accept, {
        id: row.id,
        to: user.email,
        said: { kind: row.kind, address: row.address, at: row.created_at },
      })
    : 'the account is gone';
  await world.db.tx((tx) => noteAccountNoticeMailed(tx, row.id, { at: world.clock.now(), fault }));
}

/** Answers why there was no mail, or null. */
async function mail(
  world: World,
  accept: Accepts,
  { id, to, said }: { id: string; to: string; said: AccountMail },
): Promise<string | null> {
  const texts = composeAccountMail(world.origin(), said);
  const fault = await sendAccountMail(world, accept, { kind: said.kind, occasion: id, to, ...texts });
  if (fault === undefined) return null;
  world.log.warn({ kind: said.kind, id }, `a mail about an account could not be sent: ${fault}`);
  return fault;
}

const KEY_IS_GONE = 'the instance key that its token was made with is gone';
