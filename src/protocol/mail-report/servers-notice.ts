import type { MessageReading } from '../read-message/index.ts';
import { addressIn } from './fields.ts';

type Read = Extract<MessageReading, { isRead: true }>;

const FROM_A_SERVER = /^(?:mailer-daemon|mailer_daemon|maildaemon|mail-daemon|postmaster|mdaemon)$/i;
const SUBJECTS =
  /undeliver|delivery (?:status notification|failure|failed|has failed|problem|error|report|notification|incomplete)|deliver(?:y|ed) (?:failure|failed)|failure (?:notice|delivery)|failed mail|returned (?:mail|to sender)|mail (?:delivery )?(?:failed|failure|system error|could not|error|not delivered)|(?:could not|cannot|can't) be delivered|message (?:could not be|not|undeliver)|non[- ]?remis|unzustellbar|nicht zugestellt|no se (?:pudo|puede) entregar|не доставлен|エラー通知|配信(?:不能|でき)|送信できません|rejected:|delayed mail|user unknown|warning: (?:could not send|message)|delivery (?:is )?delayed/i;
const WORDS =
  /did not reach the following recipient|could not be delivered to (?:one or more|the following)|unable to deliver (?:your|this) message|addresses had permanent (?:fatal )?(?:delivery )?errors/i;

/** Whether an address, of the envelope or of the header, is one that mail servers write from. */
export const isOfServer = (address: string): boolean =>
  FROM_A_SERVER.test((addressIn(address) ?? '').split('@', 1)[0] ?? '');

export const failedRecipients = ({ headers }: Read): string[] =>
  (headers['x-failed-recipients'] ?? '')
    .split(/[,\n]/)
    .map(addressIn)
    .filter((one) => one !== undefined);

/** By its header; Exchange of before took the subject of the message that it gave back. */
export const isNotice = (reading: Read): boolean =>
  failedRecipients(reading).length > 0 ||
  SUBJECTS.test(reading.subject) ||
  (isOfServer(reading.from) && WORDS.test((reading.text ?? '').slice(0, 2000)));

export const isServersNotice = (reading: Read): boolean => isOfServer(reading.from) && isNotice(reading);
