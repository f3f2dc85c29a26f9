const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** An RFC 5322 §3.3 date-time, always in UTC: the sender's zone is private. */
export function formatDate(date: Date): string {
  if (Number.isNaN(date.getTime())) throw new Error('a message has a valid date');
  const time = `${pad(date.getUTCHours())}:${pad(date.getUTCMinutes())}:${pad(date.getUTCSeconds())}`;
  const day = `${days[date.getUTCDay()]}, ${pad(date.getUTCDate())} ${months[date.getUTCMonth()]}`;
  return `${day} ${String(date.getUTCFullYear()).padStart(4, '0')} ${time} +0000`;
}

function pad(value: number): string {
  return value < 10 ? `0${value}` : String(value);
}
