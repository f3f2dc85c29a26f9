import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startScene, type Scene } from '../rig/scene.ts';
import { advanceToNextAttempt, mailIn, MINUTE, type Mail } from './mail.ts';

/** The replies of the mail server: to RCPT by the mailbox's name, to MAIL and to the final dot by the sender's. */
const TO_RCPT: Readonly<Record<string, string>> = {
  'qq-rate': '550 Ip frequency limited. http://service.mail.qq.com/',
  greylisted: '550 5.7.1 Recipient address rejected: Greylisted for 7 minutes',
  'greylisted-421': '421 4.7.1 Service unavailable; Greylisting in action, please try again later',
  barracuda: '550 permanent failure for one or more recipients (x:blocked)',
  cisco: '550 #5.7.1 Your access to submit messages to this e-mail system has been rejected.',
  spoofed: '550 rejecting spoofed message',
  'sender-domain': '550 Sender s@example.com has no A, AAAA, or MX DNS records.',
  rcpthosts: '553 sorry, that domain is not in my list of allowed rcpthosts (#5.7.1)',
  gone: '554 5.7.1 Recipient address rejected: Not in recipient list',
  'client-host': '550 5.7.1 Client host not found',
  callout: '550 Callout verification failed: user unknown at sender domain',
  'ip-list': '553 Your IP is in our local list',
  wordless: '550 Sorry',
};

let scene: Scene;
let mail: Mail;
/** Mailboxes that have been turned away once; the second time they are taken. */
const seen = new Set<string>();
let toMail: string | undefined;
beforeAll(async () => {
  scene = await startScene({
    sink: {
      script: (command) => {
        if (command.startsWith('MAIL FROM')) return toMail;
        const mailbox = /^RCPT TO:<([^@]+)@/.exec(command)?.[1];
        const said = mailbox === undefined ? undefined : TO_RCPT[mailbox];
        if (mailbox === undefined || said === undefined || seen.has(mailbox)) return undefined;
        seen.add(mailbox);
        return said;
      },
    },
  });
  mail = await mailIn(scene);
});
afterAll(() => scene.close());

async function fetchCause(emailId: string): Promise<unknown> {
  const { body } = await scene.api('GET', `/emails/${emailId}/attempts`, { key: mail.team.key });
  const { cause, responsible } = body.data.at(-1).recipients[0];
  return { cause, responsible };
}

describe('a refusal', () => {
  it.each([
    ['barracuda', 'ip_reputation', 'operator', 'ContentRejected'],
    ['cisco', 'ip_reputation', 'operator', 'ContentRejected'],
    ['spoofed', 'authentication', 'domain owner', 'General'],
    ['sender-domain', 'sender_address', 'domain owner', 'General'],
    ['rcpthosts', 'relay', 'operator', 'ContentRejected'],
    ['client-host', 'ptr_helo', 'operator', 'General'],
    ['callout', 'sender_address', 'domain owner', 'General'],
    ['ip-list', 'ip_reputation', 'operator', 'ContentRejected'],
    ['wordless', 'receiver_policy', 'sender', 'ContentRejected'],
  ])(
    'by %s means %s, which the %s must fix, and suppresses no recipient',
    async (name, cause, responsible, subType) => {
      const id = await mail.send(`${name}@faults.example`);
      await scene.settled();
      const account = await mail.account(id);
      expect(account).toMatchObject({ state: 'bounced', suppressed: [], waiting: [] });
      expect((await mail.detail(id, 'email.bounced')).bounce).toMatchObject({ type: 'Transient', subType });
      expect(await fetchCause(id)).toEqual({ cause, responsible });
    },
  );

  it('of MAIL FROM with a code that elsewhere means the recipient suppresses no recipient', async () => {
    toMail = '553 5.1.3 Sorry';
    const id = await mail.send('innocent@faults.example');
    await scene.settled();
    toMail = undefined;
    expect(await mail.account(id)).toMatchObject({ state: 'bounced', suppressed: [] });
    expect(await fetchCause(id)).toEqual({ cause: 'sender_address', responsible: 'domain owner' });
  });

  it('that says that the mailbox is not in the list of recipients suppresses it', async () => {
    const id = await mail.send('gone@faults.example');
    await scene.settled();
    expect(await mail.account(id)).toMatchObject({ state: 'bounced', suppressed: ['gone@faults.example'] });
    expect(await fetchCause(id)).toEqual({ cause: 'recipient_unknown', responsible: 'sender' });
  });

  it('because of a rate is retried although its code is 550', async () => {
    const id = await mail.send('qq-rate@faults.example');
    await scene.settled();
    expect(await mail.account(id)).toMatchObject({ state: 'delivery_delayed', waiting: ['qq-rate@faults.example'] });
    // The provider is known to count for an hour.
    expect(await advanceToNextAttempt(scene, id)).toBeGreaterThanOrEqual(60 * MINUTE);
    expect((await mail.account(id)).state).toBe('delivered');
  });
});

const THREE = ['a@faults.example', 'b@faults.example', 'c@faults.example'];

describe('a refusal before RCPT TO', () => {
  const sendTo = async (sink: NonNullable<Parameters<typeof startScene>[0]>['sink']) => {
    const refusing = await startScene({ sink });
    onTestFinished(() => refusing.close());
    const { send, account } = await mailIn(refusing);
    const id = await send(THREE);
    await refusing.settled();
    return account(id);
  };

  it('in a greeting that says that the host accepts no mail bounces and suppresses nobody', async () => {
    expect(await sendTo({ greeting: '521 5.3.2 This host takes no mail' })).toMatchObject({
      state: 'bounced',
      suppressed: [],
      waiting: [],
    });
  });

  it.each(['521 Your host 192.0.2.1 is not welcome here', '554 5.7.1 This server does not accept mail from you'])(
    'in the greeting %s defers the mail and suppresses nobody',
    async (greeting) => {
      expect(await sendTo({ greeting })).toMatchObject({ state: 'delivery_delayed', suppressed: [], waiting: THREE });
    },
  );

  it.each(['521 Your host is not welcome here', '550 This server does not accept mail from you', '556 No mail'])(
    'of MAIL FROM with %s bounces and suppresses nobody',
    async (answer) => {
      const script = (command: string) => (command.startsWith('MAIL') ? answer : undefined);
      expect(await sendTo({ script })).toMatchObject({ state: 'bounced', suppressed: [], waiting: [] });
    },
  );
});

describe('a refusal of the message itself', () => {
  const refuse = async (refuseContent: string) => {
    const refusing = await startScene({ sink: { refuseContent } });
    onTestFinished(() => refusing.close());
    const mailing = await mailIn(refusing);
    const sendAndReadAccount = async (to: string | string[]) => {
      const id = await mailing.send(to);
      await refusing.settled();
      return mailing.account(id);
    };
    return { one: await sendAndReadAccount('one@faults.example'), three: await sendAndReadAccount(THREE) };
  };

  it.each(['550 5.1.1 Bulk mail not accepted here', '521 Your server does not accept mail', '550 5.1.1 User unknown'])(
    'with %s bounces and suppresses nobody',
    async (said) => {
      const { one, three } = await refuse(said);
      expect([one, three]).toMatchObject([
        { state: 'bounced', suppressed: [] },
        { state: 'bounced', suppressed: [] },
      ]);
    },
  );

  it('that names one of the recipients suppresses only this one', async () => {
    const { one, three } = await refuse('550 5.1.1 <b@faults.example>: User unknown');
    expect(one).toMatchObject({ state: 'bounced', suppressed: [] });
    expect(three).toMatchObject({ state: 'bounced', suppressed: ['b@faults.example'] });
  });
});

describe('greylisting', () => {
  it('delays the next attempt as long as the reply says', async () => {
    const id = await mail.send('greylisted@faults.example');
    await scene.settled();
    expect(await fetchCause(id)).toEqual({ cause: 'greylist', responsible: 'nobody' });
    expect(await advanceToNextAttempt(scene, id)).toBe(7 * MINUTE);
    expect((await mail.account(id)).state).toBe('delivered');
  });

  it('that closes the session counts as no failure of the destination', async () => {
    const id = await mail.send('greylisted-421@faults.example');
    await scene.settled();
    const other = await mail.send('neighbour@faults.example');
    await scene.settled();
    expect((await mail.account(other)).state).toBe('delivered');
    expect(await advanceToNextAttempt(scene, id)).toBe(5 * MINUTE);
    expect((await mail.account(id)).state).toBe('delivered');
  });
});
