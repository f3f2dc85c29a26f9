let format: Intl.DateTimeFormat | undefined;

/** In UTC: without a script, the page cannot know the reader's time zone. */
export function timeInWords(ms: number): string {
  // Made with the first page: it takes longer to make than all modules of the pages take to load.
  format ??= new Intl.DateTimeFormat('en-GB', {
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZone: 'UTC',
  });
  return `${format.format(ms)} UTC`;
}

const STATES: Record<string, string> = {
  queued: 'Waiting to be sent',
  scheduled: 'Scheduled',
  sent: 'Sent',
  delivery_delayed: 'Delivery delayed',
  delivered: 'Delivered',
  opened: 'Opened',
  clicked: 'Clicked',
  bounced: 'Bounced',
  complained: 'Reported as spam',
  failed: 'Failed',
  suppressed: 'Not sent: the address is suppressed',
  canceled: 'Canceled',
};

export const stateInWords = (state: string): string => STATES[state] ?? state;

const UNITS = ['bytes', 'kB', 'MB', 'GB'];

export function bytesInWords(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  if (unit === 0) return bytes === 1 ? '1 byte' : `${bytes} bytes`;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`;
}
