/** What a person opens one for, by the operation that reads it: the label of that side. */
export const OPENS_ON: Readonly<Record<string, (item: { status?: string } | undefined) => string>> = {
  getReceivedEmail: () => 'text',
  // A disabled one has something to be done about it, which its details say.
  getWebhook: (item) => (item?.status === 'disabled' ? 'details' : 'events'),
};

/** What is told as a story first. */
export const STORIES: readonly string[] = ['getEmail', 'getQueuedEmail'];
