/**
 * What an examination asks of other machines below HTTP and DNS: whether a server greets, whether a connection can be made,
 * from which address one would be, and the time. Each exchange ends with its signal; none throws for what the other side does.
 */
export { greetingOf, mayConnect, type Greeting, localAddress, askTime } from './probe.ts';
