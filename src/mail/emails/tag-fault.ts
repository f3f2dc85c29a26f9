/** They say what an email of ours is, or what it was made of; readers of them may rely on that. */
const OURS: ReadonlySet<string> = new Set(['delivery_notice', 'notice_of', 'inbound_rule', 'received_email']);

/** What is wrong with a tag that a caller wants to give; undefined when it may be given. */
export const tagFault = ({ name }: { name: string }): string | undefined =>
  OURS.has(name)
    ? `The tag ${name} is given by the service to delivery notices and forwarded mail; choose another name.`
    : undefined;
