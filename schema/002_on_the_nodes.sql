-- Version 2: what the nodes tell besides metrics.

-- Preflight.

-- Telemetry.

-- Hangs.

-- Failures.

-- Remedies.

-- Phases side by side in one job.

-- By hardware.
