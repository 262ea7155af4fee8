// Uses admission as WHAT says, closes nothing, and comes to the end of the file. Prints the answers, and how long the process
// lived after that.
import { createAdmission } from "@spillway/admission";

const tell = ({ admitted, reason }) => console.log(JSON.stringify({ admitted, ...(reason && { reason }) }));

const uses = {
  async idle() {
    createAdmission();
  },
  async served() {
    tell(await createAdmission().acquire());
  },
  // One slot that is never given back: what is left is the caller's own wait.
  async waiting() {
    const admission = createAdmission({ slots: 1, waitMs: 1000 });
    tell(await admission.acquire());
    for (let i = 0; i < 2; i++) admission.acquire().then(tell);
  },
  // The second and the third wait for the one before; each work is a timer, which alone keeps the process up.
  async inTurn() {
    const admission = createAdmission({ slots: 1, waitMs: 5000 });
    for (let i = 0; i < 3; i++) admission.run(() => new Promise((resolve) => setTimeout(resolve, 200))).then(tell);
  },
  // A wait that was long, and is over before its time.
  async passed() {
    const admission = createAdmission({ slots: 1, waitMs: 60_000 });
    const permit = await admission.acquire();
    const second = admission.acquire();
    permit.release();
    tell(await second);
  },
};

await uses[process.env.WHAT]();
const endMs = performance.now();
process.once("exit", () => console.log(`lived ${Math.round(performance.now() - endMs)}`));
process.disconnect();
