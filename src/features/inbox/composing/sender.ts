import { invalidField } from '../../../platform/refusal/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { formatMailbox, normalizeAddress, parseMailbox, splitAddress } from '../../../protocol/address/index.ts';
import { replyAddress, withoutReplyToken } from '../../../protocol/reply-message/index.ts';
import type { InboxRow } from '../inbox-rows/index.ts';
import type { Original } from './original.ts';

const EVERY = '*@';

/** Under which names mail goes out from an inbox, and to where it is answered. */
export interface InboxSender {
  from: string;
  replyTo: string | undefined;
  /** Of the inbox, in the form in which addresses are compared. */
  own: ReadonlySet<string>;
}

/** The inbox of a whole domain writes from the address that was written to, so that it can only answer. */
export function senderOf(
  world: World,
  inbox: InboxRow,
  { threadId, original }: { threadId: string; original: Original | undefined },
): InboxSender {
  const address = inbox.address.startsWith(EVERY) ? addressedIn(inbox, original) : inbox.address;
  if (address === undefined) {
    const say = `${inbox.address} stands for every address of its domain; mail can be sent from it only in answer to mail that came to one of them.`;
    throw invalidField('inbox', say);
  }
  const name = inbox.from_name ?? inbox.name ?? '';
  // Where mail arrives at another server first, that may know no addresses with a tag.
  const token =
    inbox.receiving_address === null
      ? replyAddress(address, { inboxId: inbox.id, threadId }, { now: world.clock.now(), mac: macOf(world) })
      : undefined;
  const own = [address, inbox.address, inbox.receiving_address ?? address].map(normalizeAddress);
  return {
    from: formatMailbox({ name, address }),
    replyTo: token === undefined ? undefined : formatMailbox({ name, address: token }),
    own: new Set(own),
  };
}

const macOf =
  ({ secrets }: World) =>
  (bytes: Uint8Array): Buffer =>
    secrets.mac('inbox reply address', bytes);

function addressedIn(inbox: InboxRow, original: Original | undefined): string | undefined {
  const domain = inbox.address.slice(EVERY.length).toLowerCase();
  const among =
    original?.direction === 'outbound' ? [original.from] : [...(original?.receivedFor ?? []), ...(original?.to ?? [])];
  return among
    .flatMap((written) => {
      const parsed = parseMailbox(written);
      return parsed.ok ? [withoutReplyToken(parsed.mailbox.address)] : [];
    })
    .find((address) => splitAddress(address)?.domain.toLowerCase() === domain);
}
