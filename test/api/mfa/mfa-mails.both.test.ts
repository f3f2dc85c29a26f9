import { expect, it } from 'vitest';
import { notifyByMail } from '../../../src/features/identity/accounts/passwords.ts';
import { resetMfa } from '../../../src/features/identity/mfa/mfa.ts';
import { mailsTo, subjectsTo } from '../../rig/mailbox.ts';
import { startScene } from '../../rig/scene.ts';
import { Browser, enrolled, STEP_MS } from './authenticator.ts';

it('a person gets a mail about every change of the second factor, and about a sign-in with a recovery code', async () => {
  await using scene = await startScene();
  const team = await scene.team();
  await team.domain();
  const person = await enrolled(scene, team);
  const subjects = async () => {
    await scene.settled();
    return subjectsTo(scene, person.email);
  };
  expect(await subjects()).toEqual(['Two-factor authentication was turned on']);
  expect(mailsTo(scene, person.email)[0]).toContain('from the IP address 127.0.0.1');

  scene.clock.advance(STEP_MS);
  const replaced = await person.browser.call('POST', '/auth/mfa/recovery-codes', { code: person.code() });
  expect((await subjects()).at(-1)).toBe('You have new recovery codes');

  const [first = '', second = ''] = replaced.body.recovery_codes as string[];
  const browser = new Browser(scene);
  const { challenge_token } = (await browser.logIn(person.email)).body;
  await browser.call('POST', '/auth/mfa/recovery', { challenge_token, recovery_code: first });
  expect((await subjects()).at(-1)).toBe('A recovery code was used to sign in');

  // A wrong code changes nothing.
  expect((await browser.call('POST', '/auth/mfa/disable', { code: first })).status).toBe(422);
  expect(await subjects()).toHaveLength(3);
  expect((await browser.call('POST', '/auth/mfa/disable', { code: second })).status).toBe(200);
  expect((await subjects()).at(-1)).toBe('Two-factor authentication was turned off');

  const other = await enrolled(scene, team);
  // Two mails that are due together arrive in any order.
  await scene.settled();
  await resetMfa(scene.app.world, other.email, notifyByMail);
  await scene.settled();
  const told = mailsTo(scene, other.email).at(-1);
  expect(told).toContain('The operator of this service turned off two-factor authentication');
  expect(told).not.toContain('IP address');
});
